// TPM 2.0 Library Part 2 §6.3 (TPM_ALG_ID) and §6.4 (TPM_ECC_CURVE): the algorithms of endorsement and attestation keys.

import { hexWord, TpmFormatError } from './tpm-bytes.ts';

export type TpmHash = 'sha256' | 'sha384';
export type TpmCurve = 'P-256' | 'P-384';

export const ALG = {
  rsa: 0x0001,
  aes: 0x0006,
  null: 0x0010,
  rsassa: 0x0014,
  rsaes: 0x0015,
  rsapss: 0x0016,
  oaep: 0x0017,
  ecdsa: 0x0018,
  ecdh: 0x0019,
  ecc: 0x0023,
  cfb: 0x0043,
} as const;

const HASHES: ReadonlyMap<number, TpmHash> = new Map([
  [0x000b, 'sha256'],
  [0x000c, 'sha384'],
]);

const CURVES: ReadonlyMap<number, TpmCurve> = new Map([
  [0x0003, 'P-256'],
  [0x0004, 'P-384'],
]);

export const DIGEST_BYTES: Readonly<Record<TpmHash, number>> = { sha256: 32, sha384: 48 };
export const COORDINATE_BYTES: Readonly<Record<TpmCurve, number>> = { 'P-256': 32, 'P-384': 48 };

export function hashOf(id: number, field: string): TpmHash {
  const hash = HASHES.get(id);
  if (hash === undefined) throw new TpmFormatError(field, `hash ${hexWord(id)} is not SHA-256 or SHA-384`);
  return hash;
}

export function curveOf(id: number, field: string): TpmCurve {
  const curve = CURVES.get(id);
  if (curve === undefined) throw new TpmFormatError(field, `curve ${hexWord(id)} is not P-256 or P-384`);
  return curve;
}
