// The text format of enrollment tokens, and their status. The text is not stored; only its recipient has it.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import { Secret } from '../domain/secret.ts';
import type { EnrollmentTokenId, HeldToken } from '../store/enrollment-store.ts';

export interface TokenParts {
  readonly id: EnrollmentTokenId;
  readonly secretHash: string;
}

/** ce_<id: 12 hex>_<secret: 43 base64url characters, 256 bits>. The id selects the row; the secret is compared by its hash. */
export function parseEnrollmentToken(text: string): Parsed<TokenParts> {
  const match = /^ce_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/.exec(text);
  // The reason never quotes the text: it may be a real secret with a typo.
  if (!match?.[1] || !match[2]) return unparsable('not an enrollment token');
  return parsed({ id: match[1] as EnrollmentTokenId, secretHash: hashOf(match[2]) });
}

export function newEnrollmentToken(): TokenParts & { readonly text: Secret } {
  const id = randomBytes(6).toString('hex') as EnrollmentTokenId;
  const secret = randomBytes(32).toString('base64url');
  return { id, secretHash: hashOf(secret), text: new Secret(`ce_${id}_${secret}`) };
}

export type TokenStatus = 'good' | 'unknown' | 'wrong-node' | 'removed' | 'revoked' | 'consumed' | 'expired';

/** The audit records this value. A wrong secret is `unknown`, even with a known id. */
export function tokenStatus(
  held: HeldToken | null,
  shown: TokenParts,
  machine: MachineId | null,
  now: Instant,
): TokenStatus {
  if (!held || !sameHash(held.secretHash, shown.secretHash)) return 'unknown';
  const { token } = held;
  if (token.machine !== machine) return 'wrong-node';
  if (held.machineRemoved) return 'removed';
  if (token.revokedAt !== null) return 'revoked';
  if (token.consumedAt !== null) return 'consumed';
  return now < token.expiresAt ? 'good' : 'expired';
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
