import { expect, it } from 'vitest';
import type { SealedText } from '../../../appliance/domain/sealed-text.ts';
import type { SealedCredentials } from '../../../appliance/store/bmc-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, NOW, newAudit, newMachineId, transitionOf } from '../samples.ts';
import { writesTo } from '../writes.ts';

const sealed = (text: string): SealedText => text as SealedText;
const FACTORY: SealedCredentials = { username: 'ADMIN', password: sealed('v1.a'), key: null, setAt: NOW };
const ROTATED: SealedCredentials = { username: 'ADMIN', password: sealed('v1.b'), key: sealed('v1.k'), setAt: NOW + 1 };
const SET = newAudit('bmc.credentials-set');
const PENDING = newAudit('bmc.rotation-begun');
const CONFIRMED = newAudit('bmc.rotated');
const DROPPED = newAudit('bmc.rotation-undone');
const NOTHING = { current: null, pending: null };

export function bmcCredentialsContract(engine: Engine): void {
  const opened = useStore(engine);
  const actions = async () => (await opened().store.auditEntries(0, 10)).map(({ action }) => action);

  it('returns none for a machine without credentials', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    expect(await store.bmcCredentials(id)).toEqual(NOTHING);
    expect(await store.allBmcCredentials()).toEqual([]);
  });

  it('stores the current ones per machine, with an audit entry', async () => {
    const { store } = opened();
    const [one, other] = [await addMachine(store, 1), await addMachine(store, 2)];
    await store.setBmcCredentials(one.id, FACTORY, SET);
    expect(await store.bmcCredentials(one.id)).toEqual({ current: FACTORY, pending: null });
    expect(await store.bmcCredentials(other.id)).toEqual(NOTHING);
    expect(await store.allBmcCredentials()).toEqual([{ machine: one.id, held: { current: FACTORY, pending: null } }]);
    expect(await actions()).toEqual(['bmc.credentials-set']);
  });

  it('stores pending ones beside the current ones, and only the newest pending ones', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setBmcCredentials(id, FACTORY, SET);
    await store.setPendingBmcCredentials(id, { ...ROTATED, password: sealed('v1.older') }, PENDING);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    expect(await store.bmcCredentials(id)).toEqual({ current: FACTORY, pending: ROTATED });
  });

  it('stores pending ones without current ones', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    expect(await store.bmcCredentials(id)).toEqual({ current: null, pending: ROTATED });
    expect(await store.confirmPendingBmcCredentials(id, CONFIRMED)).toBe(true);
    expect(await store.bmcCredentials(id)).toEqual({ current: ROTATED, pending: null });
  });

  it('confirms pending ones once, with one audit entry', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setBmcCredentials(id, FACTORY, SET);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    const twice = await Promise.all([
      store.confirmPendingBmcCredentials(id, CONFIRMED),
      store.confirmPendingBmcCredentials(id, CONFIRMED),
    ]);
    expect(twice.sort()).toEqual([false, true]);
    expect(await store.bmcCredentials(id)).toEqual({ current: ROTATED, pending: null });
    expect(await actions()).toEqual(['bmc.credentials-set', 'bmc.rotation-begun', 'bmc.rotated']);
  });

  it('deletes pending ones and keeps the current ones', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setBmcCredentials(id, FACTORY, SET);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    expect(await store.dropPendingBmcCredentials(id, DROPPED)).toBe(true);
    expect(await store.dropPendingBmcCredentials(id, DROPPED)).toBe(false);
    expect(await store.bmcCredentials(id)).toEqual({ current: FACTORY, pending: null });
    expect(await actions()).toEqual(['bmc.credentials-set', 'bmc.rotation-begun', 'bmc.rotation-undone']);
  });

  it('deletes pending ones when current ones are set', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    await store.setBmcCredentials(id, FACTORY, SET);
    expect(await store.bmcCredentials(id)).toEqual({ current: FACTORY, pending: null });
  });

  it('replaces resealed texts, except those that changed in the meantime', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    await store.setBmcCredentials(id, FACTORY, SET);
    await store.setPendingBmcCredentials(id, ROTATED, PENDING);
    const before = await store.bmcCredentials(id);
    const resealed = (held: SealedCredentials) => ({ ...held, password: sealed(`v1.new-${held.password}`) });
    await store.setPendingBmcCredentials(id, { ...ROTATED, password: sealed('v1.younger') }, PENDING);
    await store.resealBmcCredentials(id, before, { current: resealed(FACTORY), pending: resealed(ROTATED) });
    expect(await store.bmcCredentials(id)).toEqual({
      current: resealed(FACTORY),
      pending: { ...ROTATED, password: 'v1.younger' },
    });
  });

  it('deletes them with the machine, and refuses removed and unknown machines', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.setBmcCredentials(machine.id, FACTORY, SET);
    await store.setPendingBmcCredentials(machine.id, ROTATED, PENDING);
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    expect(await store.allBmcCredentials()).toEqual([]);
    await expect(store.setBmcCredentials(machine.id, FACTORY, SET)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is removed and cannot be changed',
    });
    await expect(store.setPendingBmcCredentials(newMachineId(), FACTORY, SET)).rejects.toMatchObject({
      code: 'not_found',
    });
  });
}
