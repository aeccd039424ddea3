import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NO_HARDWARE } from '../../../appliance/domain/hardware-identity.ts';
import { EMPTY_INVENTORY } from '../../../appliance/domain/inventory.ts';
import { type Engine, useStore } from '../engines.ts';
import {
  addMachine,
  addMachines,
  creationOf,
  eventKinds,
  intentFor,
  inventoryWrites,
  lifecycleIn,
  mac,
  machineIn,
  NOW,
  newAudit,
  newEvent,
  newMachineId,
  objectName,
  skuNamed,
  specOf,
  transitionOf,
} from '../samples.ts';
import { writesTo } from '../writes.ts';

export function inventoryContract(engine: Engine): void {
  const opened = useStore(engine);

  it('starts empty, at revision 0', async () => {
    expect(await opened().store.inventory()).toEqual(EMPTY_INVENTORY);
  });

  it('gives a new machine version 1, unknown health and the revision of the write', async () => {
    const { store } = opened();
    const creation = creationOf(specOf(1));
    const written = await store.writeInventory(inventoryWrites(0, { createMachines: [creation] }));
    expect(written).toEqual({ revision: 1, declaredRevision: 1 });
    const expected = { ...creation, health: 'unknown', hardware: NO_HARDWARE, intent: null, version: 1, revision: 1 };
    expect((await store.inventory()).machines).toEqual([expected]);
    expect(await store.machine(creation.id)).toEqual(expected);
  });

  it('returns no machine for an unknown id', async () => {
    expect(await opened().store.machine(newMachineId())).toBeNull();
  });

  it('returns every spec as it was written, with any text', async () => {
    const { store } = opened();
    const texts = fc.record({
      serial: fc.option(fc.string({ unit: 'binary' })),
      labels: fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })),
    });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { maxLength: 20 }), async (batch) => {
        const specs = batch.map((changes) => specOf(n++, changes));
        const machines = await addMachines(store, ...specs);
        expect(machines.map(({ spec }) => spec)).toEqual(specs);
      }),
      { numRuns: 10 },
    );
  });

  it('puts, replaces and deletes catalogue objects, with their source', async () => {
    const { store } = opened();
    const r640 = { kind: 'sku', name: objectName('r640'), source: 'a.yaml', value: skuNamed('r640') } as const;
    const r740 = { kind: 'sku', name: objectName('r740'), source: 'a.yaml', value: skuNamed('r740') } as const;
    await store.writeInventory(inventoryWrites(0, { putCatalogue: [r740, r640] }));
    expect((await store.inventory()).skus).toEqual([r640.value, r740.value]);

    const replaced = { ...r640, source: 'b.yaml', value: { ...r640.value, gpus: 8 } };
    const drop = { kind: 'sku', name: r740.name } as const;
    await store.writeInventory(inventoryWrites(1, { putCatalogue: [replaced], dropCatalogue: [drop] }));
    const inventory = await store.inventory();
    expect(inventory.skus).toEqual([replaced.value]);
    expect(inventory.sources).toEqual(new Map([['sku/r640', 'b.yaml']]));
    expect(inventory.declaredRevision).toBe(2);
  });

  it('changes a machine: spec, source, version and revision, and its state when the change accepts it', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const spec = specOf(1, { serial: 'other' });
    const change = { id: machine.id, version: 1, spec, source: 'api', lifecycle: lifecycleIn('ready') };
    await store.writeInventory(inventoryWrites(1, { changeMachines: [change] }));
    expect(await store.machine(machine.id)).toEqual({
      ...machine,
      spec,
      source: 'api',
      lifecycle: lifecycleIn('ready'),
      version: 2,
      revision: 2,
    });

    await store.writeInventory(
      inventoryWrites(2, { changeMachines: [{ id: machine.id, version: 2, spec: machine.spec, source: 'api' }] }),
    );
    expect((await machineIn(store, machine.id)).lifecycle.state).toBe('ready');
  });

  it('rejects a plan made from an older inventory, and writes nothing', async () => {
    const { store } = opened();
    await addMachine(store, 1);
    const late = inventoryWrites(0, { createMachines: [creationOf(specOf(2))], events: [newEvent('node.created')] });
    await expect(store.writeInventory(late)).rejects.toMatchObject({
      code: 'version_conflict',
      message: 'the inventory has changed: it is at revision 1, not 0',
    });
    expect((await store.inventory()).machines).toHaveLength(1);
    expect(await eventKinds(store)).toEqual([]);
  });

  it('rejects the whole plan when one machine in it has changed', async () => {
    const { store } = opened();
    const [first, second] = await addMachines(store, specOf(1), specOf(2));
    if (!first || !second) throw new Error('two machines were written');
    await writesTo(store).transition(transitionOf(second, 'ready'));
    const plan = inventoryWrites(1, {
      putCatalogue: [{ kind: 'sku', name: objectName('r640'), source: 'a.yaml', value: skuNamed('r640') }],
      createMachines: [creationOf(specOf(3))],
      changeMachines: [first, second].map(({ id, spec }) => ({ id, version: 1, spec, source: 'new' })),
      events: [newEvent('node.changed')],
      audit: [newAudit('inventory.apply')],
    });
    await expect(store.writeInventory(plan)).rejects.toMatchObject({
      code: 'version_conflict',
      message: 'node2 has changed: it is at version 2, not 1',
    });
    const inventory = await store.inventory();
    expect(inventory).toMatchObject({ declaredRevision: 1, revision: 2, skus: [] });
    expect(inventory.machines.map(({ source, version }) => [source, version])).toEqual([
      ['rack.yaml', 1],
      ['rack.yaml', 2],
    ]);
    expect(await eventKinds(store)).toEqual([]);
    expect(await store.auditEntries(0, 10)).toEqual([]);
  });

  it('rejects a plan that names an unknown machine', async () => {
    const { store } = opened();
    const change = { id: newMachineId(), version: 1, spec: specOf(1), source: 'api' };
    await expect(store.writeInventory(inventoryWrites(0, { changeMachines: [change] }))).rejects.toMatchObject({
      code: 'not_found',
      message: `there is no node with the id ${change.id}`,
    });
  });

  it('leaves a removed machine out of the inventory, but keeps its row', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await writesTo(store).armIntent(intentFor(machine), newEvent('intent.armed'), newAudit('intent.arm'));
    const removal = { id: machine.id, version: 2, lifecycle: lifecycleIn('removed', { since: NOW + 5 }) };
    await store.writeInventory(inventoryWrites(1, { removeMachines: [removal] }));
    expect((await store.inventory()).machines).toEqual([]);
    const removed = await machineIn(store, machine.id);
    expect(removed).toMatchObject({ version: 3, revision: 3, lifecycle: { state: 'removed' } });
    expect(removed.intent?.revokedAt).toBe(NOW + 5);
    expect((await store.changesSince(2)).machines).toEqual([removed]);
  });

  it('rejects changes of a removed machine', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const removal = { id: machine.id, version: 1, lifecycle: lifecycleIn('removed'), effects: [] };
    await store.writeInventory(inventoryWrites(1, { removeMachines: [removal] }));
    const change = { id: machine.id, version: 2, spec: machine.spec, source: 'api' };
    const refusal = { code: 'conflict', message: 'node1 is removed and cannot be changed' };
    await expect(store.writeInventory(inventoryWrites(2, { changeMachines: [change] }))).rejects.toMatchObject(refusal);
    await expect(
      writesTo(store).transition(transitionOf(await machineIn(store, machine.id), 'ready')),
    ).rejects.toMatchObject(refusal);
  });

  it('counts declared changes separately from lifecycle changes', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await writesTo(store).transition(transitionOf(machine, 'ready'));
    await writesTo(store).setHealth(machine.id, 'online', newEvent('health.online'));
    expect(await store.inventory()).toMatchObject({ declaredRevision: 1, revision: 3 });
  });

  it('keeps both counters when a plan changes nothing, but writes its events and audit entries', async () => {
    const { store } = opened();
    const plan = inventoryWrites(0, { events: [newEvent('inventory.applied')], audit: [newAudit('inventory.apply')] });
    expect(await store.writeInventory(plan)).toEqual({ revision: 0, declaredRevision: 0 });
    expect(await eventKinds(store)).toEqual(['inventory.applied']);
    expect(await store.auditEntries(0, 10)).toHaveLength(1);
  });

  it('returns what changed after a revision', async () => {
    const { store } = opened();
    const [first, second] = await addMachines(store, specOf(1), specOf(2));
    if (!first || !second) throw new Error('two machines were written');
    const changed = await writesTo(store).transition(transitionOf(second, 'ready'));
    expect(await store.changesSince(1)).toEqual({
      revision: 2,
      declaredRevision: 1,
      catalogueChanged: false,
      machines: [changed],
    });
    expect((await store.changesSince(0)).machines.map(({ id }) => id)).toEqual([first.id, second.id]);
    expect((await store.changesSince(2)).machines).toEqual([]);

    const put = { kind: 'sku', name: objectName('r640'), source: 'a.yaml', value: skuNamed('r640') } as const;
    await store.writeInventory(inventoryWrites(1, { putCatalogue: [put] }));
    expect(await store.changesSince(2)).toMatchObject({ revision: 3, catalogueChanged: true, machines: [] });
    expect(await store.changesSince(3)).toMatchObject({ catalogueChanged: false });
  });

  it('writes more machines than fit one statement without blocking the event loop', async () => {
    const { store } = opened();
    const createMachines = Array.from({ length: 1_201 }, (_, n) => creationOf(specOf(n)));
    let turns = 0;
    let writing = true;
    const write = store.writeInventory(inventoryWrites(0, { createMachines })).finally(() => {
      writing = false;
    });
    for (; writing; turns += 1) await setImmediate();
    await write;
    expect(turns).toBeGreaterThan(3);
    const { machines } = await store.inventory();
    expect(new Set(machines.map(({ id }) => id))).toEqual(new Set(createMachines.map(({ id }) => id)));
    expect(machines.find(({ spec }) => spec.hostname === 'node1200')?.spec.interfaces[0]?.mac).toBe(mac(1200));
  });

  it('shows readers a write completely or not at all', async () => {
    const { store, another } = opened();
    const reader = await another();
    const createMachines = Array.from({ length: 600 }, (_, n) => creationOf(specOf(n)));
    let writing = true;
    const write = store.writeInventory(inventoryWrites(0, { createMachines })).finally(() => {
      writing = false;
    });
    const seen = new Set<number>();
    while (writing) {
      seen.add((await reader.inventory()).machines.length);
      await setImmediate();
    }
    await write;
    expect([...seen].filter((count) => count !== 0 && count !== 600)).toEqual([]);
    expect((await reader.inventory()).machines).toHaveLength(600);
  });
}
