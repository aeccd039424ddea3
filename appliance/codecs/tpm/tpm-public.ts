// TPM 2.0 Library Part 2 §12.2.4 (TPMT_PUBLIC) and §12.2.5 (TPM2B_PUBLIC): the public area of a key in a TPM. It is
// untrusted input: what is malformed, follows the structure or is not supported is rejected with a reason.
//
//   TPMT_PUBLIC { type, nameAlg, objectAttributes, authPolicy, parameters, unique }

import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { ALG, COORDINATE_BYTES, curveOf, DIGEST_BYTES, hashOf, type TpmCurve, type TpmHash } from './algorithms.ts';
import { hexWord, leftPadded, TpmFormatError, TpmReader } from './tpm-bytes.ts';

/** Part 2 §8.3 (TPMA_OBJECT): bit numbers. */
const ATTRIBUTE_BITS = {
  fixedTPM: 1,
  stClear: 2,
  fixedParent: 4,
  sensitiveDataOrigin: 5,
  userWithAuth: 6,
  adminWithPolicy: 7,
  firmwareLimited: 8,
  svnLimited: 9,
  noDA: 10,
  encryptedDuplication: 11,
  restricted: 16,
  decrypt: 17,
  sign: 18,
  x509sign: 19,
} as const;

export type TpmAttribute = keyof typeof ATTRIBUTE_BITS;
const ATTRIBUTES = Object.entries(ATTRIBUTE_BITS) as readonly (readonly [TpmAttribute, number])[];

/** The AES key with which a storage key protects its children. */
export interface TpmSymmetric {
  readonly keyBits: number;
  readonly mode: number;
}

export interface TpmScheme {
  readonly algorithm: 'rsassa' | 'rsapss' | 'rsaes' | 'oaep' | 'ecdsa' | 'ecdh';
  /** RSAES has none. */
  readonly hash: TpmHash | null;
}

interface PublicArea {
  readonly nameAlg: TpmHash;
  readonly attributes: ReadonlySet<TpmAttribute>;
  readonly symmetric: TpmSymmetric | null;
  readonly scheme: TpmScheme | null;
  /** Part 1 §16: nameAlg and the hash of the public area. It identifies the key with all of its attributes. */
  readonly name: Buffer;
  readonly key: KeyObject;
  /** The key as a DER SubjectPublicKeyInfo: the same for all public areas and certificates of this key. */
  readonly spki: Buffer;
}

export interface RsaPublic extends PublicArea {
  readonly type: 'rsa';
  readonly keyBits: 2048 | 3072;
}

export interface EccPublic extends PublicArea {
  readonly type: 'ecc';
  readonly curve: TpmCurve;
  /** Padded to the size of the curve. */
  readonly x: Buffer;
  readonly y: Buffer;
}

export type TpmPublic = RsaPublic | EccPublic;

/** Reads a TPM2B_PUBLIC, or a TPMT_PUBLIC without the size in front. */
export function parseTpmPublic(bytes: Uint8Array): Parsed<TpmPublic> {
  try {
    return parsed(readPublic(withoutSize(bytes)));
  } catch (error) {
    if (error instanceof TpmFormatError) return unparsable(`not a TPM public area: ${error.message}`);
    throw error;
  }
}

/** A TPMT_PUBLIC starts with its type. As a size, the types are too small for any public area: there is no ambiguity. */
function withoutSize(bytes: Uint8Array): Uint8Array {
  const first = new TpmReader(bytes).uint16('type');
  const left = bytes.length - 2;
  if (first === left) return bytes.subarray(2);
  if (first === ALG.rsa || first === ALG.ecc) return bytes;
  throw new TpmFormatError('size', `says ${first} bytes, ${left} follow`);
}

function readPublic(area: Uint8Array): TpmPublic {
  const reader = new TpmReader(area);
  const type = reader.uint16('type');
  if (type !== ALG.rsa && type !== ALG.ecc) throw new TpmFormatError('type', `${hexWord(type)} is not RSA or ECC`);
  const nameAlgId = reader.bytes(2, 'nameAlg');
  const nameAlg = hashOf(nameAlgId.readUInt16BE(), 'nameAlg');
  const attributes = attributesIn(reader.uint32('objectAttributes'));
  const policy = reader.sized(DIGEST_BYTES[nameAlg], 'authPolicy');
  if (policy.length !== 0 && policy.length !== DIGEST_BYTES[nameAlg]) {
    throw new TpmFormatError('authPolicy', `has ${policy.length} bytes, not ${DIGEST_BYTES[nameAlg]} as nameAlg has`);
  }
  const symmetric = readSymmetric(reader);
  const details = type === ALG.rsa ? readRsa(reader) : readEcc(reader);
  reader.end();
  return {
    ...details,
    nameAlg,
    attributes,
    symmetric,
    name: Buffer.concat([nameAlgId, createHash(nameAlg).update(area).digest()]),
    spki: details.key.export({ type: 'spki', format: 'der' }),
  };
}

function attributesIn(bits: number): ReadonlySet<TpmAttribute> {
  const known = ATTRIBUTES.reduce((sum, [, bit]) => sum | (1 << bit), 0);
  if ((bits & ~known) !== 0) throw new TpmFormatError('objectAttributes', 'sets a reserved bit');
  return new Set(ATTRIBUTES.filter(([, bit]) => (bits & (1 << bit)) !== 0).map(([name]) => name));
}

/** Part 2 §11.1.7 (TPMT_SYM_DEF_OBJECT). */
function readSymmetric(reader: TpmReader): TpmSymmetric | null {
  const algorithm = reader.uint16('symmetric');
  if (algorithm === ALG.null) return null;
  if (algorithm !== ALG.aes) throw new TpmFormatError('symmetric', `algorithm ${hexWord(algorithm)} is not AES`);
  return { keyBits: reader.uint16('symmetric.keyBits'), mode: reader.uint16('symmetric.mode') };
}

type RsaDetails = Pick<RsaPublic, 'type' | 'keyBits' | 'scheme' | 'key'>;

/** Part 2 §12.2.3.5 (TPMS_RSA_PARMS). */
function readRsa(reader: TpmReader): RsaDetails {
  const scheme = readScheme(reader, RSA_SCHEMES);
  const keyBits = reader.uint16('keyBits');
  if (keyBits !== 2048 && keyBits !== 3072) throw new TpmFormatError('keyBits', `${keyBits} is not 2048 or 3072`);
  // Zero is the default exponent.
  const exponent = reader.uint32('exponent');
  if (exponent !== 0 && exponent !== 65537) throw new TpmFormatError('exponent', `${exponent} is not 65537`);
  const modulus = reader.sized(keyBits / 8, 'unique');
  if (modulus.length !== keyBits / 8 || (modulus[0] ?? 0) < 0x80 || ((modulus.at(-1) ?? 0) & 1) === 0) {
    throw new TpmFormatError('unique', `is not an RSA modulus of ${keyBits} bits`);
  }
  const key = keyFrom({ kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' }, 'is not an RSA modulus');
  return { type: 'rsa', keyBits, scheme, key };
}

type EccDetails = Pick<EccPublic, 'type' | 'curve' | 'scheme' | 'key' | 'x' | 'y'>;

/** Part 2 §12.2.3.6 (TPMS_ECC_PARMS). */
function readEcc(reader: TpmReader): EccDetails {
  const scheme = readScheme(reader, ECC_SCHEMES);
  const curve = curveOf(reader.uint16('curveID'), 'curveID');
  const kdf = reader.uint16('kdf');
  if (kdf !== ALG.null) throw new TpmFormatError('kdf', `algorithm ${hexWord(kdf)} is not supported`);
  const size = COORDINATE_BYTES[curve];
  const x = leftPadded(reader.sized(size, 'unique.x'), size, 'unique.x');
  const y = leftPadded(reader.sized(size, 'unique.y'), size, 'unique.y');
  const point = { kty: 'EC', crv: curve, x: x.toString('base64url'), y: y.toString('base64url') };
  return { type: 'ecc', curve, scheme, x, y, key: keyFrom(point, `is not a point on ${curve}`) };
}

const RSA_SCHEMES: ReadonlyMap<number, TpmScheme['algorithm']> = new Map([
  [ALG.rsassa, 'rsassa'],
  [ALG.rsapss, 'rsapss'],
  [ALG.rsaes, 'rsaes'],
  [ALG.oaep, 'oaep'],
]);

const ECC_SCHEMES: ReadonlyMap<number, TpmScheme['algorithm']> = new Map([
  [ALG.ecdsa, 'ecdsa'],
  [ALG.ecdh, 'ecdh'],
]);

/** Part 2 §11.2.4.2 (TPMT_RSA_SCHEME) and §11.2.5.6 (TPMT_ECC_SCHEME). */
function readScheme(reader: TpmReader, known: ReadonlyMap<number, TpmScheme['algorithm']>): TpmScheme | null {
  const id = reader.uint16('scheme');
  if (id === ALG.null) return null;
  const algorithm = known.get(id);
  if (algorithm === undefined) throw new TpmFormatError('scheme', `${hexWord(id)} is not supported`);
  return { algorithm, hash: algorithm === 'rsaes' ? null : hashOf(reader.uint16('scheme.hashAlg'), 'scheme.hashAlg') };
}

function keyFrom(key: JsonWebKey, reason: string): KeyObject {
  try {
    return createPublicKey({ key, format: 'jwk' });
  } catch {
    throw new TpmFormatError('unique', reason);
  }
}
