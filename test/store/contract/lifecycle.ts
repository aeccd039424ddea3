import { expect, it } from 'vitest';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { type Engine, useStore } from '../engines.ts';
import {
  addMachine,
  addMachines,
  allEvents,
  eventKinds,
  intentFor,
  lifecycleIn,
  machineIn,
  NOW,
  newAudit,
  newEffect,
  newEvent,
  newMachineId,
  specOf,
  transitionOf,
} from '../samples.ts';
import { writesTo } from '../writes.ts';

export function lifecycleContract(engine: Engine): void {
  const opened = useStore(engine);

  it('writes state, effects, events and audit of a transition together', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const lifecycle = lifecycleIn('failed', {
      deadline: NOW + MINUTE,
      resume: 'ready',
      failure: { step: 'deploy', reason: 'no disk' },
      note: 'look at the cable',
      fallbackUsed: true,
    });
    const effects = [newEffect(machine.id, 'boot-from-network'), newEffect(machine.id, 'power-off')];
    const event = newEvent('lifecycle.failed', { machine: machine.id, data: { step: 'deploy' }, correlationId: 'c1' });
    const after = await writesTo(store).transition({
      ...transitionOf(machine, 'failed'),
      lifecycle,
      effects,
      events: [event],
      audit: [newAudit('node.fail')],
    });
    expect(after).toEqual({ ...machine, lifecycle, version: 2, revision: 2 });
    expect(await store.machine(machine.id)).toEqual(after);
    expect(await store.effects(machine.id)).toEqual(
      effects.map((effect, index) => ({
        ...effect,
        seq: index + 1,
        state: 'pending',
        attempts: 0,
        notBefore: NOW,
        lastError: null,
      })),
    );
    expect(await allEvents(store)).toEqual([{ ...event, seq: 1 }]);
    expect(await store.auditEntries(0, 10)).toMatchObject([{ seq: 1, action: 'node.fail' }]);
  });

  it('rejects a transition from an older version, and writes nothing', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const current = await writesTo(store).transition(transitionOf(machine, 'ready'));
    const stale = transitionOf(machine, 'deploying', {
      effects: [newEffect(machine.id)],
      events: [newEvent('lifecycle.deploying')],
      audit: [newAudit('node.deploy')],
    });
    await expect(writesTo(store).transition(stale)).rejects.toMatchObject({
      code: 'version_conflict',
      message: 'node1 has changed: it is at version 2, not 1',
    });
    expect(await store.machine(machine.id)).toEqual(current);
    expect((await store.inventory()).revision).toBe(2);
    expect(await store.effects(machine.id)).toEqual([]);
    expect(await eventKinds(store)).toEqual([]);
    expect(await store.auditEntries(0, 10)).toEqual([]);
  });

  it('writes nothing of a transition when its last write fails', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const twice = newEffect(machine.id);
    const events = [newEvent('lifecycle.ready')];
    await expect(
      writesTo(store).transition(transitionOf(machine, 'ready', { effects: [twice, twice], events })),
    ).rejects.toThrow();
    expect(await store.machine(machine.id)).toEqual(machine);
    expect(await store.effects(machine.id)).toEqual([]);
    expect(await eventKinds(store)).toEqual([]);
  });

  it('accepts exactly one of two writers with the same version', async () => {
    const { store, another } = opened();
    const other = await another();
    const machine = await addMachine(store, 1);
    const results = await Promise.allSettled([
      writesTo(store).transition(transitionOf(machine, 'ready')),
      writesTo(other).transition(transitionOf(machine, 'quarantined')),
      writesTo(store).transition(transitionOf(machine, 'retired')),
    ]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused.map(({ code }) => code)).toEqual(['version_conflict', 'version_conflict']);
    expect((await machineIn(store, machine.id)).version).toBe(2);
  });

  it('rejects a transition of an unknown machine', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const unknown = { ...machine, id: newMachineId() };
    await expect(writesTo(store).transition(transitionOf(unknown, 'ready'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('revokes the intent of a removed machine', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = intentFor(machine);
    await writesTo(store).armIntent(intent, newEvent('intent.armed'), newAudit('intent.arm'));
    const removed = await writesTo(store).transition(transitionOf(await machineIn(store, machine.id), 'removed'));
    expect(removed.intent?.revokedAt).toBe(NOW);
    expect(await writesTo(store).consumeIntent(intent.id, NOW + 1, newEvent('intent.consumed'))).toBe(false);
  });

  it('accepts a transition of a removed machine to removed', async () => {
    const { store } = opened();
    const removed = await writesTo(store).transition(transitionOf(await addMachine(store, 1), 'removed'));
    const again = transitionOf(removed, 'removed', { events: [newEvent('lifecycle.ignored')] });
    expect((await writesTo(store).transition(again)).version).toBe(3);
  });

  it('changes the health with its event, and refuses an unchanged health', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await writesTo(store).setHealth(machine.id, 'online', newEvent('health.online'));
    expect(await store.machine(machine.id)).toEqual({ ...machine, health: 'online', version: 2, revision: 2 });
    await writesTo(store).setHealth(machine.id, 'online', newEvent('health.online'));
    expect((await machineIn(store, machine.id)).version).toBe(2);
    expect(await eventKinds(store)).toEqual(['health.online']);
  });

  it('rejects the health of an unknown machine', async () => {
    const { store } = opened();
    const event = newEvent('health.online');
    await expect(writesTo(store).setHealth(newMachineId(), 'online', event)).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await eventKinds(store)).toEqual([]);
  });

  it('finds overdue machines, the most overdue first, and the next deadline', async () => {
    const { store } = opened();
    expect(await store.nextDeadline()).toBeNull();
    const machines = await addMachines(store, specOf(1), specOf(2), specOf(3), specOf(4));
    const deadlines = [NOW + 30, NOW + 10, null, NOW + 20];
    for (const [index, machine] of machines.entries()) {
      const lifecycle = lifecycleIn('commissioning', { deadline: deadlines[index] ?? null });
      await writesTo(store).transition({ ...transitionOf(machine, 'commissioning'), lifecycle });
    }
    const due = async (now: number, limit: number): Promise<string[]> =>
      (await store.dueDeadlines(now, limit)).map(({ spec }) => spec.hostname);
    expect(await due(NOW + 9, 10)).toEqual([]);
    expect(await due(NOW + 10, 10)).toEqual(['node2']);
    expect(await due(NOW + 99, 10)).toEqual(['node2', 'node4', 'node1']);
    expect(await due(NOW + 99, 2)).toEqual(['node2', 'node4']);
    expect(await store.nextDeadline()).toBe(NOW + 10);
  });
}
