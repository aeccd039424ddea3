// The secrets from which the keys of sealed sessions are made. Each is derived from the appliance's own key, so that nothing
// secret is stored, and a restarted appliance derives the same.

import { createHash, hkdfSync } from 'node:crypto';
import type { SessionId } from '../../domain/session.ts';

export interface SessionSeeds {
  /** New for each opening, and for each medium. */
  newSalt(): string;
  seed(session: SessionId, salt: string): Buffer;
  /** The secret on the medium with this salt. */
  mediumSeed(salt: string): Buffer;
  /** SHA-256 of that secret, in hexadecimal digits. */
  mediumHash(salt: string): string;
  /** The unguessable part of the URL of that medium. It reveals nothing about the secret. */
  mediumPath(salt: string): string;
}

const SEED_BYTES = 32;
const SALT_BYTES = 16;

/** `keyOf`: the named key, or the newest one for null; with its name. */
export function sessionSeeds(
  keyOf: (id: string | null) => { readonly id: string; readonly key: Buffer },
  random: (size: number) => Buffer,
): SessionSeeds {
  const derive = (key: Buffer, salt: string, info: string): Buffer =>
    Buffer.from(hkdfSync('sha256', key, Buffer.from(salt), Buffer.from(info), SEED_BYTES));
  const keyFor = (salt: string): Buffer => keyOf(salt.split('.')[0] ?? null).key;
  const mediumSeed = (salt: string): Buffer => derive(keyFor(salt), salt, 'coldiron medium');
  return {
    newSalt: () => `${keyOf(null).id}.${random(SALT_BYTES).toString('base64url')}`,
    seed: (session, salt) => derive(keyFor(salt), salt, `coldiron session ${session}`),
    mediumSeed,
    mediumHash: (salt) => createHash('sha256').update(mediumSeed(salt)).digest('hex'),
    mediumPath: (salt) => derive(keyFor(salt), salt, 'coldiron medium path').toString('base64url'),
  };
}
