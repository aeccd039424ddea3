// A password rotation over real sessions: with BMCs that accept, truncate and ignore it, and behind the gate that prevents a
// lock-out.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BmcGates } from '../../../appliance/bmc/gates.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { paced } from '../../../appliance/bmc/paced.ts';
import { type PasswordStore, rotatePassword } from '../../../appliance/bmc/rotate.ts';
import { HOUR } from '../../../appliance/domain/instant.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { RACING, startSimulator, targetOf } from './client-rig.ts';
import type { BmcFaults } from './simulator/commands.ts';
import { ADMIN, OPERATOR } from './simulator/simulated-bmc.ts';

const USER = { ...ADMIN, password: 'the-old-password' };
/** More than a minute of real time, so that no session expires in the middle of a rotation on a busy machine. */
const KEEP_FOR = 4 * HOUR;

async function rotate(faults: BmcFaults, length: number) {
  const simulator = await startSimulator({ users: [USER, OPERATOR] });
  Object.assign(simulator.faults, faults);
  const disk: { current: string; pending: string | null } = { current: USER.password, pending: null };
  const gates = new BmcGates(RACING.clock);
  const open = (password: Secret) =>
    paced(
      ipmiBmc({ ...targetOf(simulator.port, USER), password }, { efi: true, keepFor: KEEP_FOR }, RACING),
      gates.gate('127.0.0.1'),
      gates.fingerprint(USER.name, password),
    );
  const store: PasswordStore = {
    savePending: async (password) => {
      disk.pending = new TextDecoder().decode(password.reveal());
    },
    commitPending: async () => {
      Object.assign(disk, { current: disk.pending, pending: null });
    },
    dropPending: async () => {
      disk.pending = null;
    },
  };
  const deps = { clock: RACING.clock, random: (count: number) => Uint8Array.from(randomBytes(count)) };
  const outcome = await rotatePassword({ current: new Secret(USER.password), open, store, length }, deps);
  const next = open(new Secret(disk.current));
  expect(await next.powerState()).toBe('off');
  await next.close();
  expect(simulator.activeSessions).toBe(0);
  expect(simulator.machine.users[0]?.password).toBe(disk.current);
  expect(simulator.machine.users[1]?.password).toBe(OPERATOR.password);
  return { outcome: outcome.kind, changed: disk.current !== USER.password, pending: disk.pending };
}

const ROTATED = { outcome: 'rotated', changed: true, pending: null };
const ROLLED_BACK = { outcome: 'rolled-back', changed: false, pending: null };

describe('rotating a password over IPMI', () => {
  it.each<[string, BmcFaults, number, object]>([
    ['a BMC that stores sixteen bytes', {}, 16, ROTATED],
    ['a BMC that stores twenty bytes', {}, 20, ROTATED],
    ['one that cannot test passwords', { cannotTestPasswords: true }, 16, ROTATED],
    ['one that truncates at sixteen, given sixteen', { passwordBytes: 16 }, 16, ROTATED],
    ['one that truncates at sixteen, given twenty, and whose test reports it', { passwordBytes: 16 }, 20, ROLLED_BACK],
    ['one that truncates it and cannot test it', { passwordBytes: 16, cannotTestPasswords: true }, 20, ROLLED_BACK],
    ['one that accepts and ignores it', { passwordBytes: 0, cannotTestPasswords: true }, 16, ROLLED_BACK],
  ])('with %s', async (_what, faults, length, expected) => {
    expect(await rotate(faults, length)).toEqual(expected);
  });
});
