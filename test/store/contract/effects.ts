import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Effect, EffectId, NewEffect } from '../../../appliance/domain/effect.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { type Engine, useStore } from '../engines.ts';
import {
  addMachine,
  addMachines,
  eventKinds,
  machineIn,
  NOW,
  newEffect,
  newEvent,
  specOf,
  transitionOf,
} from '../samples.ts';
import { writesTo } from '../writes.ts';

async function writeEffects(store: Store, machine: Machine, count: number): Promise<NewEffect[]> {
  const effects = Array.from({ length: count }, () => newEffect(machine.id));
  await writesTo(store).transition(transitionOf(await machineIn(store, machine.id), 'ready', { effects }));
  return effects;
}

const ids = (effects: readonly { id: EffectId }[]): EffectId[] => effects.map(({ id }) => id);

export function effectsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('takes the oldest effect of each machine, and counts the attempt', async () => {
    const { store } = opened();
    const [first, second] = await addMachines(store, specOf(1), specOf(2));
    if (!first || !second) throw new Error('two machines were written');
    const [a] = await writeEffects(store, first, 2);
    const [b] = await writeEffects(store, second, 2);
    if (!a || !b) throw new Error('effects were written');
    const taken = await store.takeEffects(NOW, 10);
    const running = { state: 'running', attempts: 1, notBefore: NOW, lastError: null };
    expect(taken).toEqual([
      { ...a, ...running, seq: 1 },
      { ...b, ...running, seq: 3 },
    ]);
    expect(await store.effects(first.id)).toMatchObject([{ state: 'running', attempts: 1 }, { state: 'pending' }]);
  });

  it('takes at most `limit` effects, the oldest first', async () => {
    const { store } = opened();
    const machines = await addMachines(store, specOf(1), specOf(2), specOf(3));
    for (const machine of machines.toReversed()) await writeEffects(store, machine, 1);
    const machinesTaken = async (): Promise<string[]> =>
      (await store.takeEffects(NOW, 2)).map(({ machine }) => machine);
    expect(await machinesTaken()).toEqual([machines[2]?.id, machines[1]?.id]);
    expect(await machinesTaken()).toEqual([machines[0]?.id]);
  });

  it('takes no second effect of a machine while one is running', async () => {
    const { store } = opened();
    const [first, second] = await writeEffects(store, await addMachine(store, 1), 2);
    if (!first || !second) throw new Error('two machines were written');
    await store.takeEffects(NOW, 10);
    expect(await store.takeEffects(NOW, 10)).toEqual([]);
    await writesTo(store).finishEffect(first.id, [newEvent('effect.done')]);
    expect(ids(await store.takeEffects(NOW, 10))).toEqual([second.id]);
    expect(await eventKinds(store)).toEqual(['effect.done']);
  });

  it('delays a retry, and takes no later effect of the same machine before it', async () => {
    const { store } = opened();
    const [first] = await writeEffects(store, await addMachine(store, 1), 2);
    if (!first) throw new Error('the machine was written');
    await store.takeEffects(NOW, 10);
    await writesTo(store).retryEffect(first.id, NOW + 100, 'BMC does not reply');
    expect(await store.takeEffects(NOW + 99, 10)).toEqual([]);
    expect(await store.takeEffects(NOW + 100, 10)).toMatchObject([
      { id: first.id, attempts: 2, notBefore: NOW + 100, lastError: 'BMC does not reply' },
    ]);
  });

  it('continues with the next effect after one has failed permanently', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const [first, second] = await writeEffects(store, machine, 2);
    if (!first || !second) throw new Error('two machines were written');
    await store.takeEffects(NOW, 10);
    await writesTo(store).failEffect(first.id, 'wrong password', [newEvent('effect.failed')]);
    expect(await store.effects(machine.id)).toMatchObject([
      { state: 'failed', lastError: 'wrong password' },
      { state: 'pending' },
    ]);
    expect(await eventKinds(store)).toEqual(['effect.failed']);
    expect(ids(await store.takeEffects(NOW, 10))).toEqual([second.id]);
  });

  it('returns when the next effect is due, without effects blocked by an earlier one', async () => {
    const { store } = opened();
    expect(await store.nextEffectDue()).toBeNull();
    const [first] = await writeEffects(store, await addMachine(store, 1), 2);
    if (!first) throw new Error('the machine was written');
    expect(await store.nextEffectDue()).toBe(NOW);
    await store.takeEffects(NOW, 10);
    expect(await store.nextEffectDue()).toBeNull();
    await writesTo(store).retryEffect(first.id, NOW + 100, 'later');
    expect(await store.nextEffectDue()).toBe(NOW + 100);
  });

  it('says how many due effects wait, and since when', async () => {
    const { store } = opened();
    expect(await store.queues(NOW)).toEqual({
      effects: { waiting: 0, since: null },
      tasks: { waiting: 0, since: null },
    });
    await writeEffects(store, await addMachine(store, 1), 2);
    expect((await store.queues(NOW - 1)).effects.waiting).toBe(0);
    expect((await store.queues(NOW + 5)).effects).toEqual({ waiting: 2, since: NOW });
    await store.takeEffects(NOW, 10);
    expect((await store.queues(NOW + 5)).effects.waiting).toBe(1);
  });

  it('sets running effects to pending after a crash, and keeps their attempts', async () => {
    const { store } = opened();
    const [first] = await writeEffects(store, await addMachine(store, 1), 1);
    await store.takeEffects(NOW, 10);
    expect(await store.reclaimEffects()).toBe(1);
    expect(await store.reclaimEffects()).toBe(0);
    expect(await store.takeEffects(NOW, 10)).toMatchObject([{ id: first?.id, attempts: 2 }]);
  });

  it('ends only running effects', async () => {
    const { store } = opened();
    const [first] = await writeEffects(store, await addMachine(store, 1), 1);
    if (!first) throw new Error('the machine was written');
    await expect(writesTo(store).finishEffect(first.id, [newEvent('effect.done')])).rejects.toMatchObject({
      code: 'conflict',
      message: `effect ${first.id}: the effect is not running`,
    });
    const unknown = randomUUID() as EffectId;
    await expect(writesTo(store).failEffect(unknown, 'x', [newEvent('x')])).rejects.toMatchObject({ code: 'conflict' });
    await expect(writesTo(store).retryEffect(unknown, NOW, 'x')).rejects.toMatchObject({ code: 'conflict' });
    expect(await eventKinds(store)).toEqual([]);
  });

  it('gives each effect to one of several concurrent callers', async () => {
    const { store, another } = opened();
    const other = await another();
    const machines = await addMachines(store, ...Array.from({ length: 20 }, (_, n) => specOf(n)));
    for (const machine of machines) await writeEffects(store, machine, 1);
    const rounds = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).takeEffects(NOW, 5)));
    const taken = ids(rounds.flat());
    expect(taken).toHaveLength(20);
    expect(new Set(taken).size).toBe(20);
  });

  it('finishes the effects of each machine in the order they were written, with any retries', async () => {
    const { store } = opened();
    const machines = await addMachines(store, specOf(1), specOf(2), specOf(3));
    const counts = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 8 });
    const outcomes = fc.infiniteStream(fc.constantFrom('finish', 'retry', 'crash', 'fail'));
    await fc.assert(
      fc.asyncProperty(counts, outcomes, fc.integer({ min: 1, max: 4 }), async (owners, outcome, limit) => {
        const written: EffectId[] = [];
        for (const owner of owners) {
          const machine = machines[owner];
          if (machine) written.push(...ids(await writeEffects(store, machine, 1)));
        }
        const ended = await runAll(store, () => outcome.next().value ?? 'finish', limit);
        expect(new Set(ids(ended))).toEqual(new Set(written));
        for (const { id } of machines) {
          const order = ended.filter(({ machine }) => machine === id).map(({ seq }) => seq);
          expect(order).toEqual(order.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 25 },
    );
  });
}

/** Takes and ends effects until there are none, and returns them in the order they ended. */
async function runAll(store: Store, outcome: () => string, limit: number): Promise<Effect[]> {
  const ended: Effect[] = [];
  for (let round = 0; (await store.nextEffectDue()) !== null; round += 1) {
    for (const effect of await store.takeEffects(NOW, limit)) {
      // Later rounds always finish, so that the loop is bounded.
      const result = round > 20 ? 'finish' : outcome();
      if (result === 'crash') continue;
      if (result === 'retry') await writesTo(store).retryEffect(effect.id, NOW, 'again');
      else {
        if (result === 'fail') await writesTo(store).failEffect(effect.id, 'no', []);
        else await writesTo(store).finishEffect(effect.id, []);
        ended.push(effect);
      }
    }
    await store.reclaimEffects();
  }
  return ended;
}
