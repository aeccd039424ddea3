// Random requests, nodes that fail, and a process that dies between any two writes: no account is left behind, none is made twice, and
// no allocation is stuck.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALLOCATION_EVENTS, ALLOCATION_TRANSITIONS } from '../../appliance/allocations/transitions.ts';
import {
  ALLOCATION_STATE_NAMES,
  ALLOCATION_STATES,
  type AllocationId,
  isOpen,
} from '../../appliance/domain/allocation.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { aLife } from '../machines/machines.ts';
import { ALICE, AllocationWorld, Crash, key } from './allocation-world.ts';

const number = fc.nat({ max: 3 });
const step = fc.oneof(
  fc.record({ do: fc.constant('request' as const), node: fc.option(number) }),
  fc.record({ do: fc.constantFrom('release' as const, 'clean-up' as const), which: number }),
  fc.record({ do: fc.constant('execute' as const), node: number, how: fc.constantFrom('succeeds', 'fails', 'lost') }),
  fc.record({ do: fc.constantFrom('reconcile' as const, 'restart' as const, 'other-key' as const) }),
  fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 6, 40) }),
  fc.record({ do: fc.constantFrom('silence' as const, 'quarantine' as const, 'heal' as const), node: number }),
  fc.record({ do: fc.constant('retire' as const), node: number }),
  fc.record({
    ...{ do: fc.constant('crash' as const), in: fc.integer({ min: 1, max: 4 }) },
    side: fc.constantFrom('before' as const, 'after' as const),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Ended by hand: the account may still be on the node until the next allocation. */
async function take(world: AllocationWorld, each: Step, byHand: Set<string>): Promise<void> {
  const { allocations } = world;
  const some = (which: number) => [...world.records.values()].at(which % Math.max(1, world.records.size));
  switch (each.do) {
    case 'request': {
      const where = each.node === null ? { sku: 'r640' } : { node: world.machine(each.node) };
      await allocations.request({ user: 'alice', where, keySet: undefined }, ALICE);
      return;
    }
    case 'release':
      await allocations.release(some(each.which)?.allocation.id ?? '', ALICE);
      return;
    case 'clean-up': {
      const found = some(each.which)?.allocation;
      if (found?.state === 'release_failed') byHand.add(found.id);
      await allocations.cleanUp(found?.id ?? '', 'by hand', ALICE);
      return;
    }
    case 'execute':
      return world.execute(each.node, each.how as 'succeeds');
    case 'reconcile':
      return allocations.reconcile();
    case 'restart':
      return world.restart();
    case 'other-key':
      world.keys = new Map([...world.keys, [String(world.keys.size).padStart(32, '0'), key(`key ${world.keys.size}`)]]);
      return;
    case 'pass':
      return world.pass(each.minutes * MINUTE);
    case 'silence':
      return world.change(each.node, { health: 'silent' });
    case 'quarantine':
      return world.change(each.node, { lifecycle: aLife('quarantined', { resume: 'active' }) });
    case 'heal':
      return world.change(each.node, { health: 'online', lifecycle: aLife('active') });
    case 'retire': {
      const { id, allocation, lifecycle } = world.machine(each.node);
      const retired = world.commands().request(id, 'retire', ALICE.origin);
      if (allocation) await expect(retired).rejects.toMatchObject({ code: 'node_in_use' });
      else await retired;
      if (!allocation) world.change(each.node, { lifecycle });
      return;
    }
    case 'crash':
      world.crash = { in: each.in, side: each.side };
  }
}

function check(world: AllocationWorld, byHand: ReadonlySet<string>): void {
  for (const id of world.machines) {
    const open = [...world.records.values()].filter(
      ({ machine, allocation }) => machine === id && isOpen(allocation.state),
    );
    expect(open.map(({ allocation }) => allocation)).toEqual([world.store.machines.get(id)?.allocation ?? []].flat());
    for (const account of world.accounts.get(id) ?? []) {
      const state = world.records.get(account as AllocationId)?.allocation.state;
      if (!byHand.has(account)) expect(state, account).not.toMatch(/^(?:requested|released)$/);
    }
  }
  const attempts = world.tasks
    .filter(({ kind }) => kind === 'remove-account')
    .map(({ parameters }) => `${parameters.allocation} ${parameters.attempt}`);
  expect(new Set(attempts).size).toBe(attempts.length);
  const active = [...world.records.values()].filter(({ allocation }) => allocation.state === 'active');
  for (const { machine, allocation } of active) expect(world.accounts.get(machine)).toContain(allocation.id);
}

async function settle(world: AllocationWorld): Promise<void> {
  for (let round = 0; round < 12; round += 1) {
    await world.allocations.reconcile();
    for (const n of [0, 1]) world.execute(n, 'succeeds');
    world.pass(MINUTE * 6);
  }
}

describe('an allocation', () => {
  it('whatever happens, holds its node until its account is gone, and can always be released', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const world = new AllocationWorld();
        const byHand = new Set<string>();
        for (const each of steps) {
          try {
            await take(world, each, byHand);
          } catch (error) {
            if (error instanceof Crash) world.restart();
            else if (!(error instanceof ColdironError)) throw error;
          }
          check(world, byHand);
          for (const { allocation } of world.records.values()) seen.add(allocation.state);
        }
        world.restart();
        for (const n of [0, 1]) world.change(n, { health: 'online', lifecycle: aLife('active') });
        await settle(world);
        check(world, byHand);
        for (const { allocation } of world.records.values()) {
          expect(['active', 'released', 'release_failed']).toContain(allocation.state);
        }
        for (const { allocation } of [...world.records.values()]) await world.allocations.release(allocation.id, ALICE);
        await settle(world);
        for (const { allocation } of world.records.values()) expect(allocation.state).toBe('released');
        for (const accounts of world.accounts.values()) {
          expect([...accounts].filter((account) => !byHand.has(account))).toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
    expect([...seen].sort()).toEqual([...ALLOCATION_STATE_NAMES].sort());
  });

  it('creates one task for each step when the process dies at every write', async () => {
    for (const side of ['before', 'after'] as const) {
      for (let at = 1; at <= 4; at += 1) {
        const world = new AllocationWorld(1);
        world.crash = { in: at, side };
        await world.allocations
          .request({ user: 'alice', where: { sku: 'r640' }, keySet: undefined }, ALICE)
          .catch((error: unknown) => expect(error).toBeInstanceOf(Crash));
        world.restart();
        if (world.records.size === 0) continue;
        await settle(world);
        expect([...world.records.values()]).toMatchObject([{ allocation: { state: 'active' } }]);
        expect(world.tasks.map(({ kind }) => kind)).toEqual(['provision-account']);
      }
    }
  });

  it('gets the keys that its user has now, and keeps nobody who was removed', async () => {
    const world = new AllocationWorld(1);
    await world.allocations.request({ user: 'alice', where: { sku: 'r640' }, keySet: undefined }, ALICE);
    await settle(world);
    const keysOf = (n: number) =>
      Buffer.from(world.tasks.at(n)?.parameters.keys ?? '', 'base64url')
        .toString()
        .trim();
    expect(keysOf(-1)).toBe('one');
    world.keys = new Map([['2'.repeat(32), key('two')]]);
    await settle(world);
    expect([world.tasks.length, keysOf(-1)]).toEqual([2, 'two']);
    world.keys = new Map();
    await settle(world);
    expect([world.tasks.length, keysOf(-1)]).toEqual([3, '']);
    await settle(world);
    expect(world.tasks).toHaveLength(3);
  });
});

describe('the transitions of an allocation', () => {
  it('are in docs/allocations.md, and no others', () => {
    const text = readFileSync(join(import.meta.dirname, '../../docs/allocations.md'), 'utf8');
    const rows = ALLOCATION_TRANSITIONS.map(({ from, event, to }) => `| \`${from}\` | \`${event}\` | \`${to}\` |`);
    expect(text.match(/^\| `\w+` \| `[\w-]+` \| `\w+` \|$/gm)).toEqual(rows);
    for (const [event, { by, means }] of Object.entries(ALLOCATION_EVENTS)) {
      expect(text).toContain(`| \`${event}\` | ${by} | ${means} |`);
    }
    for (const state of ALLOCATION_STATE_NAMES)
      expect(text).toContain(`| \`${state}\` | ${ALLOCATION_STATES[state].means} |`);
  });

  it('reach every state, and lead from every state to released', () => {
    const reachable = new Set(['requested', ...ALLOCATION_TRANSITIONS.map(({ to }) => to)]);
    expect([...reachable].sort()).toEqual([...ALLOCATION_STATE_NAMES].sort());
    for (const state of ALLOCATION_STATE_NAMES) {
      const seen = new Set([state]);
      for (const from of seen) {
        for (const row of ALLOCATION_TRANSITIONS) if (row.from === from) seen.add(row.to);
      }
      expect(seen, state).toContain('released');
    }
  });
});
