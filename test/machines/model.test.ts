// 100,000 random lifecycles over the store in memory, and a sample of them over SQLite, each with a store that fails.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { addMachine, lifecycleIn, machineIn } from '../store/samples.ts';
import { changeOf } from '../store/writes.ts';
import { randomFrom, type Subject } from './faulty-store.ts';
import { aLife, aMachine } from './machines.ts';
import { MemoryStore } from './memory-store.ts';
import { Life } from './random-life.ts';

/** See test/seed.ts. */
const setting = process.env.COLDIRON_SEED ?? '20261';
const SEED = setting === 'random' ? Math.floor(Math.random() * 2 ** 32) : Number(setting);
const LIVES = 100_000;
const SQLITE_LIVES = 200;
/** The initial states: those without a deadline. */
const BEGINNINGS: readonly LifecycleState[] = ['discovered', 'registered', 'ready', 'active', 'retired'];

const beginning = (state: LifecycleState): Partial<Machine['lifecycle']> =>
  state === 'retired' ? { resume: 'active' } : {};

function inMemory(state: LifecycleState): Subject {
  const machine = aMachine({ lifecycle: aLife(state, beginning(state)) });
  const store = new MemoryStore(machine);
  if (state === 'active' || state === 'retired') store.trusted.add(machine.id);
  return { store, machine: machine.id, trusted: store.trusted, fingerprint: () => store.fingerprint() };
}

async function inSqlite(store: Store, number: number, state: LifecycleState): Promise<Subject> {
  const machine = await addMachine(store, number);
  const lifecycle = lifecycleIn(state, { since: Date.UTC(2029, 0, 1), ...beginning(state) });
  await store.commit(changeOf(machine.id, { lifecycle }));
  const fingerprint = async () =>
    JSON.stringify([
      await machineIn(store, machine.id),
      await store.effects(machine.id),
      await store.sessionsOf(machine.id, 100),
      await store.events({ machine: machine.id, limit: 1000 }),
      await store.auditEntries(0, 1, true),
    ]);
  return { store, machine: machine.id, trusted: null, fingerprint };
}

describe(`any sequence of commands, faults and crashes, seed ${SEED}`, () => {
  it(`leaves no partial change, lost intent, double effect or dead end: ${LIVES} lives`, async () => {
    const random = randomFrom(SEED);
    const reached = new Set<string>();
    for (let life = 0; life < LIVES; life += 1) {
      const subject = inMemory(BEGINNINGS[random(BEGINNINGS.length)] ?? 'registered');
      // Every third one without faults, so that some are long.
      const lived = new Life(subject, random, life % 3 === 0 ? 0 : 6, `life-${life}`);
      await lived.live(4 + random(9));
      const after = await subject.store.machine(subject.machine);
      if (after) reached.add(after.lifecycle.state);
    }
    // The run is meaningful only when it reaches every state.
    expect(reached.size).toBe(14);
  }, 300_000);

  it(`holds on SQLite too: ${SQLITE_LIVES} lives`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coldiron-model-'));
    const store = await openSqliteStore({ file: join(folder, 'coldiron.db') });
    try {
      const random = randomFrom(SEED + 1);
      for (let life = 0; life < SQLITE_LIVES; life += 1) {
        const state = BEGINNINGS[random(BEGINNINGS.length)] ?? 'registered';
        await new Life(await inSqlite(store, life + 1, state), random, 4, `life-${life}`).live(4 + random(9));
      }
      expect(await store.verifyAudit()).toMatchObject({ intact: true });
    } finally {
      await store.close();
      await rm(folder, { recursive: true });
    }
  }, 120_000);
});
