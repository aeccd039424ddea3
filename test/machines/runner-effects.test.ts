import { describe, expect, it, vi } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { EffectError } from '../../appliance/machines/effects/handler.ts';
import { aLife, aMachine, machineId, T0 } from './machines.ts';
import { MemoryStore } from './memory-store.ts';
import { aGate, aRig, NODE01, OPS } from './runner-rig.ts';

const registered = () => new MemoryStore(aMachine({}));
const silent = async () => {
  throw new Error('the BMC does not answer');
};

describe('effects', () => {
  it('are persisted as running, with the attempt counted, before they run', async () => {
    const { runner, commands, store, calls } = aRig(registered());
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    expect(store.written).toMatchObject([{ kind: 'boot-from-network', machine: NODE01, correlationId: 'corr-1' }]);
    await runner.idle();
    expect(calls).toEqual([{ kind: 'boot-from-network', at: T0, stored: 'running' }]);
    expect(store.written).toMatchObject([{ state: 'done', attempts: 1 }]);
    await runner.stop();
  });

  it('of one machine run in order, one at a time', async () => {
    const { runner, commands, calls } = aRig(new MemoryStore(aMachine({ lifecycle: aLife('active') })));
    await runner.start();
    await commands.request(NODE01, 'rescue', OPS);
    await commands.request(NODE01, 'rescue-ended', OPS);
    await runner.idle();
    expect(calls.map((call) => call.kind)).toEqual(['boot-from-network', 'boot-from-disk']);
    await runner.stop();
  });

  it('of another machine do not wait for a slow one', async () => {
    const gate = aGate();
    const slow = aGate();
    const store = new MemoryStore(aMachine({}), aMachine({ number: 2 }));
    const { runner, commands, calls } = aRig(store, {
      'boot-from-network': async ({ machine }) => {
        if (machine.id === NODE01) await gate.passed;
        else slow.open();
        return { events: [] };
      },
    });
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    await commands.request(machineId(2), 'commission', OPS);
    await slow.passed;
    expect(calls).toHaveLength(2);
    gate.open();
    await runner.idle();
    expect(store.written.map((effect) => effect.state)).toEqual(['done', 'done']);
    await runner.stop();
  });

  it('of a state that the machine has left are skipped and recorded', async () => {
    const { runner, commands, store, calls } = aRig(registered());
    await commands.request(NODE01, 'commission', OPS);
    await commands.request(NODE01, 'quarantine', OPS);
    await runner.start();
    await runner.idle();
    expect(calls).toEqual([]);
    expect(store.log).toContainEqual(
      expect.objectContaining({
        kind: 'effect.superseded',
        machine: NODE01,
        correlationId: 'corr-1',
        data: { effect: 'boot-from-network', state: 'quarantined' },
      }),
    );
    await runner.stop();
  });

  it('that fail are retried after 2 s, doubling each time', async () => {
    const tries = [1, 2, 3];
    const { runner, commands, store, calls, pass } = aRig(registered(), {
      'boot-from-network': async () => (tries.shift() ? silent() : { events: [] }),
    });
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    await runner.idle();
    expect(store.written).toMatchObject([
      { state: 'pending', notBefore: T0 + 2 * SECOND, lastError: 'the BMC does not answer' },
    ]);
    await pass(MINUTE);
    expect(calls.map((call) => call.at - T0)).toEqual([0, 2, 6, 14].map((seconds) => seconds * SECOND));
    expect(store.written).toMatchObject([{ state: 'done', attempts: 4 }]);
    await runner.stop();
  });

  it('that fail ten times fail the step, with the reason', async () => {
    const { runner, commands, store, calls, pass, life } = aRig(registered(), { 'boot-from-network': silent });
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    await pass(15 * MINUTE);
    expect(calls).toHaveLength(10);
    expect((calls[9]?.at ?? 0) - (calls[8]?.at ?? 0)).toBe(5 * MINUTE);
    expect(life()).toMatchObject({
      state: 'failed',
      deadline: null,
      failure: { step: 'commission', reason: 'boot-from-network, 10 attempts: the BMC does not answer' },
    });
    expect(store.written).toMatchObject([{ state: 'failed', lastError: 'the BMC does not answer' }]);
    expect(store.log.map((event) => event.kind)).toEqual([
      'lifecycle.commissioning',
      'lifecycle.failed',
      'effect.failed',
    ]);
    await runner.stop();
  });

  it('that fail permanently are not retried', async () => {
    const { runner, commands, calls, life } = aRig(new MemoryStore(aMachine({ lifecycle: aLife('ready') })), {
      'boot-from-network': async () => {
        throw new EffectError('no driver', { retryable: false });
      },
    });
    await runner.start();
    await commands.request(NODE01, 'deploy', OPS);
    await runner.idle();
    expect(calls.map((call) => call.kind)).toEqual(['boot-from-network']);
    expect(life()?.failure).toEqual({ step: 'deploy', reason: 'boot-from-network: no driver' });
    await runner.stop();
  });

  it('that a state does not depend on are recorded as failed and do not move the machine', async () => {
    const { runner, commands, store, life } = aRig(new MemoryStore(aMachine({ lifecycle: aLife('commissioning') })), {
      'power-off': async () => {
        throw new EffectError('no driver', { retryable: false });
      },
    });
    await runner.start();
    await commands.request(NODE01, 'commissioned', OPS);
    await runner.idle();
    expect(life()?.state).toBe('ready');
    expect(store.log).toContainEqual(
      expect.objectContaining({
        kind: 'effect.failed',
        data: { effect: 'power-off', attempts: 1, reason: 'no driver' },
      }),
    );
    await runner.stop();
  });

  it('that fail after the machine left the state do not fail its new state', async () => {
    const { runner, commands, store, life } = aRig(new MemoryStore(aMachine({ lifecycle: aLife('ready') })), {
      'boot-from-network': async () => {
        await commands.request(NODE01, 'installed', { actor: 'machine:node01', correlationId: null });
        throw new EffectError('too late', { retryable: false });
      },
    });
    await runner.start();
    await commands.request(NODE01, 'deploy', OPS);
    await runner.idle();
    expect(life()?.state).toBe('enrolling');
    expect(store.log.map((event) => event.kind)).not.toContain('lifecycle.unexpected');
    await runner.stop();
  });

  it('that fail do not fail a second visit of the same state', async () => {
    const { runner, commands, clock, calls, life } = aRig(registered(), {
      'boot-from-network': async () => {
        if (calls.length > 1) return { events: [] };
        await commands.request(NODE01, 'commission-failed', { actor: 'machine:node01', correlationId: null });
        await clock.advance(1, async () => {});
        await commands.request(NODE01, 'commission', OPS);
        throw new EffectError('too late', { retryable: false });
      },
    });
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    await runner.idle();
    expect(life()).toMatchObject({ state: 'commissioning', since: T0 + 1 });
    expect(calls).toHaveLength(2);
    await runner.stop();
  });
});

describe('a release whose disks cannot be erased', () => {
  const releasing = () => new MemoryStore(aMachine({ lifecycle: aLife('releasing') }));
  const eraseFailed = { actor: 'machine:node01', correlationId: 'corr-2', failureReason: 'sda is write protected' };

  it('ends ready and unerased where that is allowed', async () => {
    const { runner, commands, store, life } = aRig(releasing(), {
      'release-without-erase': async () => ({
        events: [],
        leadsTo: { event: 'released-unerased', note: 'data is still there' },
      }),
    });
    await runner.start();
    await commands.request(NODE01, 'erase-failed', eraseFailed);
    await runner.idle();
    expect(life()).toMatchObject({ state: 'ready', note: 'data is still there', fallbackUsed: false });
    expect(store.log.map((event) => event.kind)).toEqual(['lifecycle.releasing', 'lifecycle.ready']);
    expect(store.log[1]).toMatchObject({ actor: 'appliance', correlationId: 'corr-2' });
    await runner.stop();
  });

  it('fails where it is not', async () => {
    const { runner, commands, life } = aRig(releasing(), {
      'release-without-erase': async () => {
        throw new EffectError('not allowed', { retryable: false });
      },
    });
    await runner.start();
    await commands.request(NODE01, 'erase-failed', eraseFailed);
    await runner.idle();
    expect(life()?.failure).toEqual({ step: 'release', reason: 'release-without-erase: not allowed' });
    await runner.stop();
  });
});

describe('a store that is unavailable for a while', () => {
  const unavailable = new ColdironError('store_unavailable', 'disk full');

  it('loses no result of an effect, and no effect runs twice', async () => {
    const { runner, commands, store, calls, clock } = aRig(registered());
    const refused = aGate();
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    vi.spyOn(store, 'commit').mockImplementationOnce(async () => {
      refused.open();
      throw unavailable;
    });
    await refused.passed;
    await expect.poll(() => clock.pendingTimers).toBe(2);
    await clock.advance(2 * SECOND, async () => {});
    await runner.idle();
    expect(calls).toHaveLength(1);
    expect(store.written).toMatchObject([{ state: 'done', attempts: 1 }]);
    await runner.stop();
  });

  it('is retried with back-off until it is available', async () => {
    const { runner, store, complaints, pass, life } = aRig(
      new MemoryStore(aMachine({ lifecycle: aLife('enrolling', { deadline: T0 }) })),
    );
    const dueDeadlines = vi.spyOn(store, 'dueDeadlines').mockRejectedValue(unavailable);
    await runner.start();
    await runner.idle();
    await pass(MINUTE);
    expect(dueDeadlines).toHaveBeenCalledTimes(5);
    expect(complaints).toHaveLength(5);
    dueDeadlines.mockRestore();
    await pass(MINUTE);
    expect(life()?.state).toBe('failed');
    await runner.stop();
  });
});
