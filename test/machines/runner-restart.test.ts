import { describe, expect, it } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { SECOND } from '../../appliance/domain/instant.ts';
import { aLife, aMachine, machineId } from './machines.ts';
import { MemoryStore } from './memory-store.ts';
import { aGate, aRig, NODE01, OPS } from './runner-rig.ts';

const registered = () => new MemoryStore(aMachine({}));

describe('a new runner', () => {
  it('repeats the effect that was running when the last one was killed', async () => {
    const store = registered();
    const begun = aGate();
    const killed = aRig(store, {
      'boot-from-network': () => {
        begun.open();
        return new Promise(() => {});
      },
    });
    await killed.runner.start();
    await killed.commands.request(NODE01, 'commission', OPS);
    await begun.passed;
    expect(store.written).toMatchObject([{ state: 'running', attempts: 1 }]);

    const next = aRig(store);
    await next.runner.start();
    await next.runner.idle();
    expect(next.calls.map((call) => call.kind)).toEqual(['boot-from-network']);
    expect(store.written).toMatchObject([{ state: 'done', attempts: 2 }]);
    await next.runner.stop();
  });

  it('runs the effects that are pending', async () => {
    const store = registered();
    await aRig(store).commands.request(NODE01, 'commission', OPS);
    expect(store.written).toMatchObject([{ state: 'pending' }]);

    const next = aRig(store);
    await next.runner.start();
    await next.runner.idle();
    expect(store.written).toMatchObject([{ state: 'done' }]);
    await next.runner.stop();
  });

  it('moves the machine and ends the effect in one commit: a crash before it leaves neither', async () => {
    const store = new MemoryStore(aMachine({ lifecycle: aLife('releasing') }));
    const fallback = async () => ({
      events: [],
      leadsTo: { event: 'released-unerased', note: 'unerased' } as const,
    });
    const killed = aRig(store, { 'release-without-erase': fallback });
    await killed.commands.request(NODE01, 'erase-failed', OPS);
    const dying = aGate();
    const commit = store.commit.bind(store);
    store.commit = () => {
      dying.open();
      return new Promise(() => {});
    };
    await killed.runner.start();
    await dying.passed;
    expect(killed.life()?.state).toBe('releasing');
    expect(store.written).toMatchObject([{ kind: 'release-without-erase', state: 'running' }]);
    store.commit = commit;

    const next = aRig(store, { 'release-without-erase': fallback });
    await next.runner.start();
    await next.runner.idle();
    expect(store.log.map((event) => event.kind)).toEqual(['lifecycle.releasing', 'lifecycle.ready']);
    expect(store.written.map((effect) => effect.state)).toEqual(['done', 'done']);
    await next.runner.stop();
  });
});

describe('stop', () => {
  it('waits for the effect that is running and leaves the rest pending', async () => {
    const store = new MemoryStore(aMachine({ lifecycle: aLife('active') }));
    const begun = aGate();
    const gate = aGate();
    const { runner, commands, calls, clock } = aRig(store, {
      'boot-from-network': async () => {
        begun.open();
        await gate.passed;
        return { events: [] };
      },
    });
    await runner.start();
    await commands.request(NODE01, 'rescue', OPS);
    await commands.request(NODE01, 'rescue-ended', OPS);
    await begun.passed;
    const stopped = runner.stop();
    gate.open();
    await stopped;
    expect(calls).toHaveLength(1);
    expect(store.written.map((effect) => effect.state)).toEqual(['done', 'pending']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not wait forever: the next process resumes an effect that hangs', async () => {
    const store = registered();
    const begun = aGate();
    const { runner, commands, clock, complaints } = aRig(store, {
      'boot-from-network': () => {
        begun.open();
        return new Promise(() => {});
      },
    });
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    await begun.passed;
    const stopped = runner.stop();
    await clock.advance(10 * SECOND, async () => {});
    await stopped;
    expect(complaints).toEqual(['stopped while effects were running']);
    expect(store.written).toMatchObject([{ state: 'running' }]);
  });

  it('stops waiting for a store that is unavailable', async () => {
    const store = registered();
    const called = aGate();
    const { runner, commands, clock, complaints } = aRig(store);
    await runner.start();
    await commands.request(NODE01, 'commission', OPS);
    store.commit = async () => {
      called.open();
      throw new ColdironError('store_unavailable', 'disk full');
    };
    await called.passed;
    // One timer is the runner's, the other one the pause before the store is retried.
    await expect.poll(() => clock.pendingTimers).toBe(2);
    await runner.stop();
    expect(clock.pendingTimers).toBe(0);
    expect(complaints).toContain('the result of an effect could not be committed');
    expect(store.written).toMatchObject([{ state: 'running' }]);
  });

  it('accepts requests afterwards, and starts no effects for them', async () => {
    const { runner, commands, store, calls, clock } = aRig(registered());
    await runner.start();
    await runner.stop();
    await commands.request(NODE01, 'commission', OPS);
    await runner.idle();
    expect(calls).toEqual([]);
    expect(store.written).toMatchObject([{ state: 'pending' }]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('runs at most 256 effects at once', async () => {
    const fleet = Array.from({ length: 300 }, (_, index) => ({ ...aMachine({}), id: machineId(index) }));
    const store = new MemoryStore(...fleet);
    const gate = aGate();
    const full = aGate();
    const { runner, commands, calls } = aRig(store, {
      'boot-from-network': async () => {
        if (calls.length === 256) full.open();
        await gate.passed;
        return { events: [] };
      },
    });
    for (const { id } of fleet) await commands.request(id, 'commission', OPS);
    await runner.start();
    await full.passed;
    expect(store.written.filter((effect) => effect.state === 'running')).toHaveLength(256);
    gate.open();
    await runner.idle();
    expect(store.written.every((effect) => effect.state === 'done')).toBe(true);
    await runner.stop();
  });
});
