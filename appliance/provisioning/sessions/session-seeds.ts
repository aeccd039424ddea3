// The secrets from which the keys of sealed sessions are made. Each is derived from the appliance's own key, so that nothing
// secret is stored, and a restarted appliance derives the same.

import { createHash, hkdfSync } from 'node:crypto';
import type { Machine } from '../../domain/machine.ts';
import type { SessionId } from '../../domain/session.ts';

export interface SessionSeeds {
  /** New for each opening. */
  newSalt(): string;
  seed(session: SessionId, salt: string): Buffer;
  /** The secret on the virtual medium of the machine's armed work. */
  mediumSeed(machine: Machine): Buffer;
  /** SHA-256 of that secret, in hexadecimal digits. */
  mediumHash(machine: Machine): string;
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
  // The intent is random and new for each arming.
  const mediumSeed = ({ id, intent }: Machine): Buffer =>
    derive(keyOf(null).key, intent?.id ?? '', `coldiron medium ${id}`);
  return {
    newSalt: () => `${keyOf(null).id}.${random(SALT_BYTES).toString('base64url')}`,
    seed: (session, salt) => derive(keyOf(salt.split('.')[0] ?? null).key, salt, `coldiron session ${session}`),
    mediumSeed,
    mediumHash: (machine) => createHash('sha256').update(mediumSeed(machine)).digest('hex'),
  };
}
