// RFC 5280 §4: encodes an X.509 v3 certificate, and reads from one of ours what is needed to sign the next.
//
//   Certificate  ::=  SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue BIT STRING }

import type { Instant } from '../../domain/instant.ts';
import {
  bitString,
  boolean,
  contextTag,
  element,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  TAG,
  time,
  unsignedInteger,
  utf8String,
} from './der.ts';
import {
  type DerElement,
  type DerReader,
  membersOf,
  readObjectIdentifier,
  readOnly,
  readWholeBytes,
} from './der-reader.ts';
import { encodeGeneralName, type GeneralName } from './general-name.ts';
import { OID } from './object-identifiers.ts';

export interface DistinguishedName {
  readonly organization: string;
  readonly commonName: string;
}

export interface CertificateFields {
  /** Big-endian, at most 20 bytes. */
  readonly serial: Uint8Array;
  /** Names and key are already encoded, and are copied unchanged. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly publicKeyInfo: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly extensions: readonly Uint8Array[];
}

/** Our authorities sign with ECDSA and SHA-256. */
const SIGNATURE_ALGORITHM = sequence(objectIdentifier(OID.ecdsaWithSha256));
const VERSION_3 = element(contextTag(0, true), unsignedInteger(Uint8Array.of(2)));

export const encodeName = ({ organization, commonName }: DistinguishedName): Uint8Array =>
  sequence(nameAttribute(OID.organization, organization), nameAttribute(OID.commonName, commonName));

export const toBeSigned = (fields: CertificateFields): Uint8Array =>
  sequence(
    VERSION_3,
    unsignedInteger(fields.serial),
    SIGNATURE_ALGORITHM,
    fields.issuer,
    sequence(time(fields.notBefore), time(fields.notAfter)),
    fields.subject,
    fields.publicKeyInfo,
    element(contextTag(3, true), sequence(...fields.extensions)),
  );

/** `signature` is a DER ECDSA-Sig-Value, as crypto libraries return it. */
export const signedCertificate = (tbsCertificate: Uint8Array, signature: Uint8Array): Uint8Array =>
  sequence(tbsCertificate, SIGNATURE_ALGORITHM, bitString(signature));

export const basicConstraints = (authority: { readonly pathLength: number } | null): Uint8Array =>
  extension(
    OID.basicConstraints,
    true,
    authority ? sequence(boolean(true), unsignedInteger(Uint8Array.of(authority.pathLength))) : sequence(),
  );

/** RFC 5280 §4.2.1.3: bit 0 is the first bit of the first byte; trailing zero bits are omitted. */
const KEY_USAGE_BITS = { digitalSignature: 0, keyEncipherment: 2, keyCertSign: 5, cRLSign: 6 } as const;
export type KeyUsage = keyof typeof KEY_USAGE_BITS;

export function keyUsage(...usages: readonly KeyUsage[]): Uint8Array {
  const bits: number[] = usages.map((usage) => KEY_USAGE_BITS[usage]);
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0);
  return extension(OID.keyUsage, true, bitString(Uint8Array.of(byte), 7 - Math.max(...bits)));
}

export type ExtendedKeyUsage = 'serverAuthentication' | 'clientAuthentication';

export const extendedKeyUsage = (...usages: readonly ExtendedKeyUsage[]): Uint8Array =>
  extension(OID.extendedKeyUsage, false, sequence(...usages.map((usage) => objectIdentifier(OID[usage]))));

export const subjectAlternativeName = (names: readonly GeneralName[]): Uint8Array =>
  extension(OID.subjectAlternativeName, false, sequence(...names.map(encodeGeneralName)));

export const subjectKeyIdentifier = (id: Uint8Array): Uint8Array =>
  extension(OID.subjectKeyIdentifier, false, octetString(id));

export const authorityKeyIdentifier = (id: Uint8Array): Uint8Array =>
  extension(OID.authorityKeyIdentifier, false, sequence(element(contextTag(0, false), id)));

/** Throws a DerError if the certificate is malformed. */
export function readSubject(certificate: Uint8Array): { subject: Uint8Array; publicKeyInfo: Uint8Array } {
  const { subject, publicKeyInfo } = readTbs(certificate);
  return { subject, publicKeyInfo };
}

/** How many authorities may follow below this one; null: any number. Throws a DerError if the certificate is malformed. */
export function readPathLength(certificate: Uint8Array): number | null {
  const { rest } = readTbs(certificate);
  while (!rest.isAtEnd) {
    const part = rest.any('tbsCertificate');
    if (part.tag === contextTag(3, true)) return pathLengthIn(readOnly(part.content, TAG.sequence, 'extensions'));
  }
  return null;
}

function pathLengthIn(list: DerElement): number | null {
  const extensions = membersOf(list, 'extensions');
  while (!extensions.isAtEnd) {
    const members = membersOf(extensions.next(TAG.sequence, 'extension'), 'extension');
    if (readObjectIdentifier(members.any('extension'), 'extension') !== OID.basicConstraints) continue;
    let value = members.any('basicConstraints');
    if (value.tag === TAG.boolean) value = members.next(TAG.octetString, 'basicConstraints');
    const constraints = membersOf(readOnly(value.content, TAG.sequence, 'basicConstraints'), 'basicConstraints');
    while (!constraints.isAtEnd) {
      const { tag, content } = constraints.any('basicConstraints');
      if (tag === TAG.integer) return content.reduce((sum, byte) => sum * 0x100 + byte, 0);
    }
  }
  return null;
}

interface TbsCertificate {
  readonly subject: Uint8Array;
  readonly publicKeyInfo: Uint8Array;
  /** What follows: unique identifiers and extensions. */
  readonly rest: DerReader;
}

function readTbs(certificate: Uint8Array): TbsCertificate {
  const whole = readOnly(certificate, TAG.sequence, 'certificate');
  const tbs = membersOf(membersOf(whole, 'certificate').next(TAG.sequence, 'tbsCertificate'), 'tbsCertificate');
  tbs.next(contextTag(0, true), 'version');
  tbs.next(TAG.integer, 'serialNumber');
  tbs.next(TAG.sequence, 'signature');
  tbs.next(TAG.sequence, 'issuer');
  tbs.next(TAG.sequence, 'validity');
  const subject = tbs.next(TAG.sequence, 'subject').whole;
  return { subject, publicKeyInfo: tbs.next(TAG.sequence, 'subjectPublicKeyInfo').whole, rest: tbs };
}

/** The key bits without the algorithm: the input of a key identifier (RFC 7093 §2). */
export function readKeyBits(publicKeyInfo: Uint8Array): Uint8Array {
  const info = membersOf(readOnly(publicKeyInfo, TAG.sequence, 'subjectPublicKeyInfo'), 'subjectPublicKeyInfo');
  info.next(TAG.sequence, 'algorithm');
  return readWholeBytes(info.next(TAG.bitString, 'subjectPublicKey'), 'subjectPublicKey');
}

const nameAttribute = (type: string, value: string): Uint8Array =>
  setOf(sequence(objectIdentifier(type), utf8String(value)));

const extension = (type: string, critical: boolean, value: Uint8Array): Uint8Array =>
  sequence(objectIdentifier(type), ...(critical ? [boolean(true)] : []), octetString(value));
