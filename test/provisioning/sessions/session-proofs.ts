// What sessions prove identities with, for tests: a fixed key, random salts, no TPM vendors.

import { randomBytes } from 'node:crypto';
import { sessionSeeds } from '../../../appliance/provisioning/sessions/session-seeds.ts';
import { tpmReader } from '../../../appliance/provisioning/sessions/tpm-proof.ts';

const KEY = Buffer.alloc(32, 7);

export const sessionProofs = (now: () => number) => ({
  seeds: sessionSeeds(() => ({ id: 'test', key: KEY }), randomBytes),
  readTpm: tpmReader({ vendors: [], now, random: randomBytes }),
  random: randomBytes,
});
