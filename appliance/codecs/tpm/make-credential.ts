// TPM 2.0 Library Part 1 §24 (credential protection): what TPM2_MakeCredential does, without a TPM. Only the TPM that has
// the endorsement key can open the result, and only if it also has the attestation key with this name.
//
//   seed       RSA: random, encrypted with OAEP (annex B); ECC: ECDH with an ephemeral key and KDFe (annex C)
//   idObject   HMAC(KDFa(seed, "INTEGRITY"), encrypted ‖ name), encrypted
//   encrypted  AES-CFB(KDFa(seed, "STORAGE", name), size ‖ secret)

import { constants, createCipheriv, createECDH, createHash, createHmac, publicEncrypt } from 'node:crypto';
import { COORDINATE_BYTES, DIGEST_BYTES, type TpmCurve, type TpmHash } from './algorithms.ts';
import { sizedBytes, uint32Bytes } from './tpm-bytes.ts';
import type { EndorsementKey } from './tpm-keys.ts';
import type { EccPublic, RsaPublic } from './tpm-public.ts';

export type Random = (size: number) => Uint8Array;

export interface CredentialRequest {
  readonly ek: EndorsementKey;
  /** The name of the attestation key. */
  readonly akName: Uint8Array;
  /** At most as long as a digest of the endorsement key's nameAlg. */
  readonly secret: Uint8Array;
  readonly random: Random;
}

/** The contents of TPM2B_ID_OBJECT and TPM2B_ENCRYPTED_SECRET. */
export interface Credential {
  readonly idObject: Buffer;
  readonly encryptedSecret: Buffer;
}

export function makeCredential({ ek, akName, secret, random }: CredentialRequest): Credential {
  const { nameAlg } = ek.public;
  const digestBits = DIGEST_BYTES[nameAlg] * 8;
  if (secret.length > DIGEST_BYTES[nameAlg]) {
    throw new RangeError(`a credential of ${secret.length} bytes is too long for ${nameAlg}`);
  }
  const { seed, encryptedSecret } = ek.public.type === 'rsa' ? rsaSeed(ek.public, random) : eccSeed(ek.public, random);
  const storageKey = kdfa(nameAlg, seed, 'STORAGE', akName, ek.aesBits);
  // A key is used once, so that the initialization vector is zero.
  const cipher = createCipheriv(`aes-${ek.aesBits}-cfb`, storageKey, Buffer.alloc(16));
  const encrypted = Buffer.concat([cipher.update(sizedBytes(secret)), cipher.final()]);
  const integrityKey = kdfa(nameAlg, seed, 'INTEGRITY', Buffer.alloc(0), digestBits);
  const integrity = createHmac(nameAlg, integrityKey).update(encrypted).update(akName).digest();
  return { idObject: Buffer.concat([sizedBytes(integrity), encrypted]), encryptedSecret };
}

/** The file that `tpm2 activatecredential -i` of tpm2-tools reads. */
export const credentialFile = ({ idObject, encryptedSecret }: Credential): Buffer =>
  Buffer.concat([uint32Bytes(0xbadcc0de), uint32Bytes(1), sizedBytes(idObject), sizedBytes(encryptedSecret)]);

interface Seed {
  readonly seed: Uint8Array;
  readonly encryptedSecret: Buffer;
}

function rsaSeed({ nameAlg, key }: RsaPublic, random: Random): Seed {
  const seed = random(DIGEST_BYTES[nameAlg]);
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const encryptedSecret = publicEncrypt({ key, padding, oaepHash: nameAlg, oaepLabel: label('IDENTITY') }, seed);
  return { seed, encryptedSecret };
}

function eccSeed({ nameAlg, curve, x, y }: EccPublic, random: Random): Seed {
  const ephemeral = ephemeralKey(curve, random);
  const point = ephemeral.getPublicKey();
  const size = COORDINATE_BYTES[curve];
  const [ownX, ownY] = [point.subarray(1, 1 + size), point.subarray(1 + size)];
  const shared = ephemeral.computeSecret(Buffer.concat([UNCOMPRESSED, x, y]));
  const seed = kdfe(nameAlg, shared, ownX, x);
  return { seed, encryptedSecret: Buffer.concat([sizedBytes(ownX), sizedBytes(ownY)]) };
}

/** SEC 1 §2.3.3: the tag of a point with both coordinates. */
const UNCOMPRESSED = Buffer.of(4);
const NODE_CURVES: Readonly<Record<TpmCurve, string>> = { 'P-256': 'prime256v1', 'P-384': 'secp384r1' };
const TRIES = 16;

/** A random number that is not below the order of the curve is no key: about one in four billion. */
function ephemeralKey(curve: TpmCurve, random: Random): ReturnType<typeof createECDH> {
  const ecdh = createECDH(NODE_CURVES[curve]);
  for (let left = TRIES; ; left--) {
    try {
      ecdh.setPrivateKey(random(COORDINATE_BYTES[curve]));
      return ecdh;
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}

/** Part 1 §11.4, KDFa: counter mode of NIST SP 800-108; `bits` is at most one or two digests. */
function kdfa(hash: TpmHash, key: Uint8Array, use: string, context: Uint8Array, bits: number): Buffer {
  const blocks: Buffer[] = [];
  for (let counter = 1; (counter - 1) * DIGEST_BYTES[hash] < bits / 8; counter++) {
    const block = createHmac(hash, key).update(uint32Bytes(counter)).update(label(use)).update(context);
    blocks.push(block.update(uint32Bytes(bits)).digest());
  }
  return Buffer.concat(blocks).subarray(0, bits / 8);
}

/** Part 1 §11.4, KDFe: one digest, of the shared point and the x coordinates of both keys. */
const kdfe = (hash: TpmHash, shared: Uint8Array, ownX: Uint8Array, otherX: Uint8Array): Buffer =>
  createHash(hash).update(uint32Bytes(1)).update(shared).update(label('IDENTITY')).update(ownX).update(otherX).digest();

/** Labels include the terminating zero. */
const label = (text: string): Buffer => Buffer.from(`${text}\0`, 'ascii');
