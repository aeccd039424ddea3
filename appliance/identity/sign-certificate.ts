// Signs what `certificate.ts` encodes with an authority's key. The callers decide who gets a certificate.

import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type DistinguishedName,
  type ExtendedKeyUsage,
  encodeName,
  extendedKeyUsage,
  keyUsage,
  readKeyBits,
  readSubject,
  signedCertificate,
  subjectAlternativeName,
  subjectKeyIdentifier,
  toBeSigned,
} from '../codecs/x509/certificate.ts';
import type { GeneralName } from '../codecs/x509/general-name.ts';
import { pemText, readPemBlock } from '../codecs/x509/pem.ts';
import { DAY, type Instant, SECOND } from '../domain/instant.ts';
import { mustParse } from '../domain/parsed.ts';
import type { AuthorityRecord, Fingerprint, NewCertificate } from '../store/enrollment-store.ts';
import { fingerprintOf } from './fingerprint.ts';

export interface Issuer {
  readonly record: AuthorityRecord;
  readonly key: KeyObject;
}

export interface SignedCertificate extends Pick<NewCertificate, 'serial' | 'fingerprint' | 'notBefore' | 'notAfter'> {
  readonly pem: string;
}

export interface LeafOrder {
  readonly subject: DistinguishedName;
  readonly names: readonly GeneralName[];
  readonly publicKeyInfo: Uint8Array;
  readonly uses: readonly ExtendedKeyUsage[];
  /** RSA key exchange in TLS 1.2 needs the key usage keyEncipherment. */
  readonly isRsa: boolean;
  readonly lifetime: Instant;
}

/** A node's clock may be this far behind (hours, if it never reached NTP) and must still accept a new certificate. */
const CLOCK_SKEW = DAY;
const SERIAL_BYTES = 16;

/** Expires no later than its authority. */
export function signLeaf(issuer: Issuer, order: LeafOrder, now: Instant): SignedCertificate {
  return signAs(issuer, order, {
    notBefore: seconds(now - CLOCK_SKEW),
    notAfter: seconds(Math.min(now + order.lifetime, issuer.record.notAfter)),
    subject: encodeName(order.subject),
    extensions: [
      basicConstraints(null),
      order.isRsa ? keyUsage('digitalSignature', 'keyEncipherment') : keyUsage('digitalSignature'),
      extendedKeyUsage(...order.uses),
      subjectAlternativeName(order.names),
    ],
  });
}

/** Path length 1: during a rotation the next authority is between it and a leaf. */
export function signRoot(key: KeyObject, organization: string, lifetime: Instant, now: Instant): SignedCertificate {
  const publicKeyInfo = publicKeyInfoOf(key);
  const keyId = keyIdentifier(publicKeyInfo);
  const subject = encodeName({ organization, commonName: `${organization} CA ${hex(keyId).slice(0, 8)}` });
  const notBefore = seconds(now - CLOCK_SKEW);
  const notAfter = seconds(now + lifetime);
  const extensions = [...authorityExtensions(1), subjectKeyIdentifier(keyId)];
  return finished(key, { issuer: subject, subject, publicKeyInfo, notBefore, notAfter, extensions });
}

/** The key and name of `next`, signed by `issuer`. */
export function signCross(issuer: Issuer, next: SignedCertificate, now: Instant): SignedCertificate {
  return signAs(issuer, readSubject(derOf(next.pem)), {
    notBefore: seconds(now - CLOCK_SKEW),
    notAfter: Math.min(next.notAfter, issuer.record.notAfter),
    subject: readSubject(derOf(next.pem)).subject,
    extensions: authorityExtensions(0),
  });
}

export const derOf = (pem: string): Uint8Array => mustParse(readPemBlock(pem, 'CERTIFICATE'));

export const publicKeyInfoOf = (key: KeyObject): Uint8Array =>
  createPublicKey(key).export({ format: 'der', type: 'spki' });

interface Content {
  readonly subject: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly extensions: readonly Uint8Array[];
}

function signAs(
  issuer: Issuer,
  { publicKeyInfo }: { readonly publicKeyInfo: Uint8Array },
  content: Content,
): SignedCertificate {
  const authority = readSubject(derOf(issuer.record.certificate));
  return finished(issuer.key, {
    ...content,
    issuer: authority.subject,
    publicKeyInfo,
    extensions: [
      ...content.extensions,
      subjectKeyIdentifier(keyIdentifier(publicKeyInfo)),
      authorityKeyIdentifier(keyIdentifier(authority.publicKeyInfo)),
    ],
  });
}

function finished(
  key: KeyObject,
  content: Content & { readonly issuer: Uint8Array; readonly publicKeyInfo: Uint8Array },
): SignedCertificate {
  const serial = randomBytes(SERIAL_BYTES);
  const tbs = toBeSigned({ ...content, serial });
  const der = signedCertificate(tbs, sign('sha256', tbs, key));
  return {
    serial: hex(serial).replace(/^(00)+/, ''),
    fingerprint: fingerprintOf(der) satisfies Fingerprint,
    notBefore: content.notBefore,
    notAfter: content.notAfter,
    pem: pemText('CERTIFICATE', der),
  };
}

const authorityExtensions = (pathLength: number): Uint8Array[] => [
  basicConstraints({ pathLength }),
  keyUsage('keyCertSign', 'cRLSign'),
];

/** RFC 7093 §2, method 1: the first 160 bits of SHA-256. */
const keyIdentifier = (publicKeyInfo: Uint8Array): Uint8Array =>
  createHash('sha256').update(readKeyBits(publicKeyInfo)).digest().subarray(0, 20);

/** Certificates have a resolution of seconds; the records use the same times. */
const seconds = (at: Instant): Instant => Math.floor(at / SECOND) * SECOND;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
