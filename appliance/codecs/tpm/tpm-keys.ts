// What a key of a TPM may be used for. TCG EK Credential Profile for TPM 2.0 (endorsement keys), TPM 2.0 Library
// Part 1 (attestation keys). The attributes of a key are part of its name, and a TPM enforces them.

import { createHash } from 'node:crypto';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { ALG, type TpmHash } from './algorithms.ts';
import type { TpmAttribute, TpmPublic } from './tpm-public.ts';

/** A storage key that never leaves its TPM. Only `checkEk` makes one. */
export interface EndorsementKey {
  readonly public: TpmPublic;
  readonly aesBits: 128 | 256;
}

/** A key that never leaves its TPM and signs only what this TPM says. Only `checkAk` makes one. */
export interface AttestationKey {
  readonly public: TpmPublic;
  readonly scheme: { readonly algorithm: 'rsassa' | 'rsapss' | 'ecdsa'; readonly hash: TpmHash };
}

/** Identifies a TPM: independent of certificates, which one key can have several of. */
export const ekFingerprint = ({ spki }: TpmPublic): string => createHash('sha256').update(spki).digest('hex');

const FIXED: readonly TpmAttribute[] = ['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'restricted'];

export function checkEk(key: TpmPublic): Parsed<EndorsementKey> {
  const wrong = attributeProblem(key, [...FIXED, 'decrypt'], 'sign');
  if (wrong !== null) return unparsable(`not an endorsement key: ${wrong}`);
  if (key.scheme !== null) return unparsable(`not an endorsement key: it has the scheme ${key.scheme.algorithm}`);
  const { symmetric } = key;
  if (symmetric === null) return unparsable('not an endorsement key: it has no symmetric algorithm');
  const { keyBits, mode } = symmetric;
  if ((keyBits !== 128 && keyBits !== 256) || mode !== ALG.cfb) {
    return unparsable('not an endorsement key: its symmetric algorithm is not AES-128 or AES-256 in CFB mode');
  }
  return parsed({ public: key, aesBits: keyBits });
}

export function checkAk(key: TpmPublic): Parsed<AttestationKey> {
  const wrong = attributeProblem(key, [...FIXED, 'sign'], 'decrypt');
  if (wrong !== null) return unparsable(`not an attestation key: ${wrong}`);
  if (key.symmetric !== null) return unparsable('not an attestation key: it has a symmetric algorithm');
  const { algorithm, hash } = key.scheme ?? {};
  if ((algorithm === 'rsassa' || algorithm === 'rsapss' || algorithm === 'ecdsa') && hash) {
    return parsed({ public: key, scheme: { algorithm, hash } });
  }
  return unparsable('not an attestation key: its scheme is not RSASSA, RSAPSS or ECDSA');
}

function attributeProblem(key: TpmPublic, required: readonly TpmAttribute[], forbidden: TpmAttribute): string | null {
  const missing = required.filter((name) => !key.attributes.has(name));
  if (missing.length > 0) return `it lacks the attribute ${missing.join(', ')}`;
  return key.attributes.has(forbidden) ? `it has the attribute ${forbidden}` : null;
}
