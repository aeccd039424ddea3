// Enrollment tokens as text, and what one is worth. The text exists once, in the hands of whoever it was made for.

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

/** ce_<id: 12 hex>_<secret: 43 base64url characters, 256 bits>. The id finds the row; the secret is compared by hash. */
export function parseEnrollmentToken(text: string): Parsed<TokenParts> {
  const match = /^ce_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/.exec(text);
  // The reason never repeats the text: it may be a real secret with a typing mistake.
  if (!match?.[1] || !match[2]) return unparsable('not an enrollment token');
  return parsed({ id: match[1] as EnrollmentTokenId, secretHash: hashOf(match[2]) });
}

export function newEnrollmentToken(): TokenParts & { readonly text: Secret } {
  const id = randomBytes(6).toString('hex') as EnrollmentTokenId;
  const secret = randomBytes(32).toString('base64url');
  return { id, secretHash: hashOf(secret), text: new Secret(`ce_${id}_${secret}`) };
}

export type TokenStanding = 'good' | 'unknown' | 'wrong-node' | 'removed' | 'revoked' | 'consumed' | 'expired';

/** What the audit says. A wrong secret is `unknown`: the right id alone is nothing. */
export function tokenStanding(
  held: HeldToken | null,
  shown: TokenParts,
  machine: MachineId | null,
  now: Instant,
): TokenStanding {
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
