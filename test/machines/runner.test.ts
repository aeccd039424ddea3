import { describe, expect, it, vi } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { aLife, aMachine, machineId, T0 } from './machines.ts';
import { MemoryStore } from './memory-store.ts';
import { aRig, NODE01, OPS } from './runner-rig.ts';

const registered = () => new MemoryStore(aMachine({}));
const inState = (...args: Parameters<typeof aLife>) => new MemoryStore(aMachine({ lifecycle: aLife(...args) }));

describe('a request', () => {
  it('moves the machine, with the event and the audit entry in the same write', async () => {
    const { commands, store } = aRig(registered());
    const moved = await commands.request(NODE01, 'retire', { ...OPS, note: 'spare part' });
    expect(moved.lifecycle).toMatchObject({ state: 'retired', resume: 'registered', note: 'spare part' });
    const before = expect.objectContaining({ state: 'registered' });
    const after = expect.objectContaining({ state: 'retired', note: 'spare part', since: T0 });
    expect(store.log).toEqual([
      {
        at: T0,
        kind: 'lifecycle.retired',
        actor: 'token:ops',
        machine: NODE01,
        correlationId: 'corr-1',
        data: { event: 'retire', before, after },
      },
    ]);
    expect(store.audit).toEqual([
      {
        at: T0,
        actor: 'token:ops',
        action: 'node.retire',
        target: 'node:node01',
        correlationId: 'corr-1',
        before,
        after,
      },
    ]);
  });

  it.each(['appliance', 'machine:node01'])('by %s is not audited', async (actor) => {
    const { commands, store } = aRig(inState('commissioning'));
    await commands.request(NODE01, 'commissioned', { actor, correlationId: null });
    expect(store.log.map((event) => event.kind)).toEqual(['lifecycle.ready']);
    expect(store.audit).toEqual([]);
  });

  it('stores the reason of a failure in the machine', async () => {
    const { commands } = aRig(inState('commissioning'));
    const origin = { actor: 'machine:node01', correlationId: null };
    const { lifecycle } = await commands.request(NODE01, 'commission-failed', origin, 'DIMM A2 is missing');
    expect(lifecycle.failure).toEqual({ step: 'commission', reason: 'DIMM A2 is missing' });
  });

  it('limits a deployment to the time in the profile', async () => {
    const { commands } = aRig(inState('ready'));
    expect((await commands.request(NODE01, 'deploy', OPS)).lifecycle.deadline).toBe(T0 + 30 * MINUTE);
  });

  it.each([
    ['an event that the state does not allow is a conflict', 'ready', 'installed', 'conflict'],
    ['retiring a machine that is being deployed: it is in use', 'deploying', 'retire', 'node_in_use'],
    ['removing an active machine: it is not retired', 'active', 'remove', 'not_retired'],
    ['removing a registered machine: it is not retired', 'registered', 'remove', 'not_retired'],
  ] as const)('is recorded and refused with a reason: %s', async (_, state, event, code) => {
    const { commands, store, life } = aRig(inState(state));
    const refusal = expect.objectContaining({
      code,
      message: expect.stringContaining(`node01: ${event} is not possible from ${state}: `),
    });
    await expect(commands.request(NODE01, event, OPS)).rejects.toEqual(refusal);
    expect(life()?.state).toBe(state);
    expect(store.audit).toEqual([]);
    expect(store.log).toEqual([
      expect.objectContaining({
        kind: 'lifecycle.unexpected',
        actor: 'token:ops',
        machine: NODE01,
        correlationId: 'corr-1',
        data: { event, state, reason: expect.stringContaining(`${event} is not possible from ${state}`) },
      }),
    ]);
  });

  it('to retire, refused, hints at what the state allows', async () => {
    const { commands } = aRig(inState('commissioning'));
    await expect(commands.request(NODE01, 'retire', OPS)).rejects.toMatchObject({
      hint: 'Wait until it is no longer commissioning, or end this state (coldiron cancel node01); then retire it.',
    });
  });

  it('for a machine that does not exist says so', async () => {
    const { commands, store } = aRig(registered());
    await expect(commands.request(machineId(9), 'retire', OPS)).rejects.toMatchObject({ code: 'not_found' });
    expect(store.log).toEqual([]);
  });

  it('decides again after a concurrent write', async () => {
    const { commands, store, life } = aRig(registered());
    const commit = store.commit.bind(store);
    vi.spyOn(store, 'commit').mockImplementationOnce(async (write) => {
      const held = store.machines.get(NODE01);
      if (held) store.machines.set(NODE01, { ...held, version: held.version + 1 });
      return commit(write);
    });
    await commands.request(NODE01, 'retire', OPS);
    expect(life()?.state).toBe('retired');
    expect(store.audit).toHaveLength(1);
  });

  it('decides on the new state after a concurrent transition', async () => {
    const { commands, store } = aRig(registered());
    const commit = store.commit.bind(store);
    vi.spyOn(store, 'commit').mockImplementationOnce(async (write) => {
      const held = store.machines.get(NODE01);
      if (held) store.machines.set(NODE01, { ...held, version: 7, lifecycle: aLife('deploying') });
      return commit(write);
    });
    await expect(commands.request(NODE01, 'retire', OPS)).rejects.toMatchObject({ code: 'node_in_use' });
  });

  it('fails after five concurrent writes', async () => {
    const { commands, store } = aRig(registered());
    const commit = vi.spyOn(store, 'commit').mockRejectedValue(new ColdironError('version_conflict', 'changed again'));
    await expect(commands.request(NODE01, 'retire', OPS)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(commit).toHaveBeenCalledTimes(5);
  });

  it('rethrows a failure of the store without a retry', async () => {
    const { commands, store } = aRig(registered());
    const commit = vi.spyOn(store, 'commit').mockRejectedValue(new ColdironError('store_unavailable', 'disk full'));
    await expect(commands.request(NODE01, 'retire', OPS)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(commit).toHaveBeenCalledTimes(1);
  });
});

describe('deadlines', () => {
  it('fire when they are due and not before, as events of the appliance', async () => {
    const { runner, store, pass, life } = aRig(inState('commissioning', { deadline: T0 + 20 * MINUTE }));
    await runner.start();
    await pass(20 * MINUTE - 1);
    expect(life()?.state).toBe('commissioning');
    await pass(1);
    expect(life()).toMatchObject({ state: 'failed', failure: { step: 'commission' } });
    expect(store.log).toMatchObject([{ kind: 'lifecycle.failed', actor: 'appliance', data: { event: 'deadline' } }]);
    expect(store.audit).toEqual([]);
    await runner.stop();
  });

  it('that passed while no runner ran fire at the start, the most overdue first', async () => {
    const late = [3 * MINUTE, MINUTE, 2 * MINUTE].map((ago, index) =>
      aMachine({ number: index + 1, lifecycle: aLife('enrolling', { deadline: T0 - ago }) }),
    );
    const { runner, store } = aRig(new MemoryStore(...late));
    await runner.start();
    await runner.idle();
    expect(store.log.map((event) => event.machine)).toEqual([machineId(1), machineId(3), machineId(2)]);
    await runner.stop();
  });

  it('of more machines than one batch all fire', async () => {
    const fleet = Array.from({ length: 250 }, (_, index) =>
      aMachine({ number: index % 100, lifecycle: aLife('enrolling', { deadline: T0 }) }),
    ).map((machine, index) => ({ ...machine, id: machineId(index) }));
    const { runner, store } = aRig(new MemoryStore(...fleet));
    await runner.start();
    await runner.idle();
    expect(store.log.filter((event) => event.kind === 'lifecycle.failed')).toHaveLength(250);
    await runner.stop();
  });

  it('do not fire for a machine that left the state at the last moment', async () => {
    const { runner, commands, store, life } = aRig(inState('enrolling', { deadline: T0 }));
    const dueDeadlines = store.dueDeadlines.bind(store);
    vi.spyOn(store, 'dueDeadlines').mockImplementationOnce(async (now, limit) => {
      const due = await dueDeadlines(now, limit);
      await commands.request(NODE01, 'enrolled', { actor: 'machine:node01', correlationId: null });
      return due;
    });
    await runner.start();
    await runner.idle();
    expect(life()?.state).toBe('active');
    expect(store.log.map((event) => event.kind)).toEqual(['lifecycle.active']);
    await runner.stop();
  });

  it('do not fire for a machine that moved on to a state with a later deadline', async () => {
    const { runner, commands, store, life } = aRig(inState('deploying', { deadline: T0 }));
    const dueDeadlines = store.dueDeadlines.bind(store);
    vi.spyOn(store, 'dueDeadlines').mockImplementationOnce(async (now, limit) => {
      const due = await dueDeadlines(now, limit);
      await commands.request(NODE01, 'installed', { actor: 'machine:node01', correlationId: null });
      return due;
    });
    await runner.start();
    await runner.idle();
    expect(life()).toMatchObject({ state: 'enrolling', failure: null });
    expect(life()?.deadline).toBeGreaterThan(T0);
    expect(store.log.map((event) => event.kind)).toEqual(['lifecycle.enrolling']);
    await runner.stop();
  });

  it('return a rescue to the earlier state, and start the machine from its disk', async () => {
    const { runner, commands, calls, pass, life } = aRig(inState('active'));
    await runner.start();
    await commands.request(NODE01, 'rescue', OPS);
    await pass(4 * HOUR);
    expect(life()).toMatchObject({ state: 'active', deadline: null });
    expect(calls.map((call) => call.kind)).toEqual(['boot-from-network', 'boot-from-disk']);
    await runner.stop();
  });

  it('that another process wrote are noticed within a second', async () => {
    const { runner, store, pass, life } = aRig(registered());
    await runner.start();
    await pass(10 * MINUTE);
    const lifecycle = aLife('enrolling', { deadline: T0 });
    store.machines.set(NODE01, aMachine({ lifecycle }));
    await pass(SECOND);
    expect(life()?.state).toBe('failed');
    await runner.stop();
  });
});
