import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ArmedIntent, IntentId } from '../../../appliance/domain/intent.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { type Engine, useStore } from '../engines.ts';
import {
  addMachine,
  allEvents,
  eventKinds,
  intentFor,
  machineIn,
  NOW,
  newAudit,
  newEvent,
  transitionOf,
} from '../samples.ts';
import { writesTo } from '../writes.ts';

const CONSUMED = newEvent('intent.consumed');
const REVOKED = newEvent('intent.revoked');

async function arm(store: Store, machine: Machine, changes: Partial<ArmedIntent> = {}): Promise<ArmedIntent> {
  const intent = intentFor(machine, changes);
  await writesTo(store).armIntent(intent, newEvent('intent.armed'), newAudit('intent.arm'));
  return intent;
}

export function intentsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('returns the armed intent with its machine, with a new version, its event and its audit entry', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = await arm(store, machine, { kind: 'erase', profile: null });
    const armed = { ...machine, intent, version: 2, revision: 2 };
    expect(await store.machine(machine.id)).toEqual(armed);
    expect((await store.inventory()).machines).toEqual([armed]);
    expect((await store.changesSince(1)).machines).toEqual([armed]);
    expect(await eventKinds(store)).toEqual(['intent.armed']);
    expect(await store.auditEntries(0, 10)).toMatchObject([{ action: 'intent.arm' }]);
  });

  it('revokes the open intent that a new one replaces', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const first = await arm(store, machine);
    const second = await arm(store, machine, { armedAt: NOW + 7 });
    expect(await writesTo(store).consumeIntent(first.id, NOW + 8, CONSUMED)).toBe(false);
    expect((await machineIn(store, machine.id)).intent).toEqual(second);
    expect(await writesTo(store).consumeIntent(second.id, NOW + 8, CONSUMED)).toBe(true);
  });

  it('arms again after a consumed intent, which stays consumed', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const first = await arm(store, machine);
    await writesTo(store).consumeIntent(first.id, NOW + 1, CONSUMED);
    await arm(store, machine);
    expect(await writesTo(store).consumeIntent(first.id, NOW + 2, CONSUMED)).toBe(false);
    expect(await writesTo(store).revokeIntents(machine.id, NOW + 2, REVOKED)).toBe(true);
  });

  it('is consumed once, and the machine shows it', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = await arm(store, machine);
    expect(await writesTo(store).consumeIntent(intent.id, NOW + 5, CONSUMED)).toBe(true);
    expect(await store.machine(machine.id)).toEqual({
      ...machine,
      intent: { ...intent, consumedAt: NOW + 5 },
      version: 3,
      revision: 3,
    });
    expect(await writesTo(store).consumeIntent(intent.id, NOW + 6, CONSUMED)).toBe(false);
    expect((await machineIn(store, machine.id)).version).toBe(3);
    expect(await eventKinds(store)).toEqual(['intent.armed', 'intent.consumed']);
  });

  it('is consumed by exactly one of many concurrent callers', async () => {
    const { store, another } = opened();
    const other = await another();
    const intent = await arm(store, await addMachine(store, 1));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => writesTo(n % 2 ? store : other).consumeIntent(intent.id, NOW, CONSUMED)),
    );
    expect(answers.filter((consumed) => consumed)).toHaveLength(1);
    expect((await allEvents(store)).filter(({ kind }) => kind === 'intent.consumed')).toHaveLength(1);
  });

  it('cannot be consumed from its expiry on', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = await arm(store, machine);
    expect(await writesTo(store).consumeIntent(intent.id, intent.expiresAt, CONSUMED)).toBe(false);
    expect(await writesTo(store).consumeIntent(intent.id, intent.expiresAt - 1, CONSUMED)).toBe(true);
  });

  it('cannot be consumed after it was revoked', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = await arm(store, machine);
    expect(await writesTo(store).revokeIntents(machine.id, NOW + 3, REVOKED)).toBe(true);
    expect(await store.machine(machine.id)).toMatchObject({ intent: { revokedAt: NOW + 3 }, version: 3, revision: 3 });
    expect(await writesTo(store).consumeIntent(intent.id, NOW + 4, CONSUMED)).toBe(false);
    expect(await eventKinds(store)).toEqual(['intent.armed', 'intent.revoked']);
  });

  it('does not change the machine when there is nothing to revoke', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await writesTo(store).revokeIntents(machine.id, NOW);
    expect(await store.machine(machine.id)).toEqual(machine);
    expect(await eventKinds(store)).toEqual([]);
  });

  it('cannot be consumed under an unknown id', async () => {
    const { store } = opened();
    await addMachine(store, 1);
    expect(await writesTo(store).consumeIntent(randomUUID() as IntentId, NOW, CONSUMED)).toBe(false);
  });

  it('is refused for unknown and removed machines', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const unknown = intentFor(machine, { machine: randomUUID() as Machine['id'] });
    const event = newEvent('intent.armed');
    await expect(writesTo(store).armIntent(unknown, event, newAudit('intent.arm'))).rejects.toMatchObject({
      code: 'not_found',
    });
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    await expect(arm(store, machine)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is removed: nothing can be armed for it',
    });
    expect(await eventKinds(store)).toEqual([]);
    expect(await store.auditEntries(0, 10)).toEqual([]);
  });
}
