// TCG EK Credential Profile for TPM 2.0: the certificate in which a TPM's maker signed its endorsement key. It is read
// leniently, because the NV index that holds it is often larger than the certificate, and makers differ from the profile.
// It never is an identity: one key can have several certificates. It only says who vouches for a key.

import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { readKeyBits, readSubject } from '../x509/certificate.ts';
import { bitString, element, objectIdentifier, sequence, TAG } from '../x509/der.ts';
import { membersOf, readObjectIdentifier, readOnly } from '../x509/der-reader.ts';
import { OID } from '../x509/object-identifiers.ts';
import { pemText } from '../x509/pem.ts';
import type { TpmPublic } from './tpm-public.ts';

export interface EkCertificate {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

/** Bytes as read from the NV index: the certificate, then padding. */
export function readEkCertificate(bytes: Uint8Array): Parsed<EkCertificate> {
  const der = withoutPadding(bytes);
  if (!der.ok) return der;
  const certificate = readCertificate(der.value);
  if (certificate === null) return unparsable('the EK certificate is not an X.509 certificate');
  const key = publicKeyOf(certificate, der.value);
  if (key === null) return unparsable('the EK certificate has a public key that cannot be read');
  return parsed({ certificate, key });
}

/** Compares the keys, not their encodings. */
export function isCertificateOf({ key }: EkCertificate, ek: TpmPublic): boolean {
  const [certified, own] = [key.export({ format: 'jwk' }), ek.key.export({ format: 'jwk' })];
  return (['kty', 'crv', 'x', 'y', 'n', 'e'] as const).every((member) => certified[member] === own[member]);
}

/** The outer SEQUENCE says where the certificate ends. Its length may be in a longer form than DER allows. */
function withoutPadding(bytes: Uint8Array): Parsed<Uint8Array> {
  if (bytes.every((byte) => byte === 0xff || byte === 0))
    return unparsable('the TPM has no EK certificate: it is blank');
  const [tag, first = 0] = bytes;
  if (tag !== TAG.sequence) return unparsable('the EK certificate does not start as a certificate');
  const count = first < 0x80 ? 0 : first & 0x7f;
  const length = count === 0 ? first : bytes.subarray(2, 2 + count).reduce((sum, byte) => sum * 0x100 + byte, 0);
  const end = 2 + count + length;
  if (first === 0x80 || count > 4) return unparsable('the EK certificate has an invalid length');
  if (end > bytes.length) return unparsable(`the EK certificate is truncated: ${bytes.length} of ${end} bytes`);
  return parsed(bytes.subarray(0, end));
}

/** As PEM: given DER, OpenSSL would first look for PEM text anywhere inside it, and read another certificate. */
function readCertificate(der: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(pemText('CERTIFICATE', der));
  } catch {
    return null;
  }
}

function publicKeyOf(certificate: X509Certificate, der: Uint8Array): KeyObject | null {
  try {
    const key = certificate.publicKey;
    key.export({ format: 'jwk' });
    return key;
  } catch {
    return oaepKey(der);
  }
}

/** Some makers declare the key for OAEP only (RFC 4055 §4.1), which OpenSSL does not read. The key itself is an RSA key. */
function oaepKey(der: Uint8Array): KeyObject | null {
  try {
    const { publicKeyInfo } = readSubject(der);
    const info = membersOf(readOnly(publicKeyInfo, TAG.sequence, 'subjectPublicKeyInfo'), 'subjectPublicKeyInfo');
    const algorithm = membersOf(info.next(TAG.sequence, 'algorithm'), 'algorithm');
    if (readObjectIdentifier(algorithm.any('algorithm'), 'algorithm') !== OID.rsaOaep) return null;
    const plain = sequence(
      sequence(objectIdentifier(OID.rsa), element(TAG.null)),
      bitString(readKeyBits(publicKeyInfo)),
    );
    return createPublicKey({ key: Buffer.from(plain), format: 'der', type: 'spki' });
  } catch {
    // A DerError of ours, or an error of OpenSSL: the key cannot be read.
    return null;
  }
}
