import { expect, it } from 'vitest';
import type { MachineSpec } from '../../../appliance/domain/machine.ts';
import { type Engine, useStore } from '../engines.ts';
import {
  addMachine,
  addMachines,
  creationOf,
  inventoryWrites,
  lifecycleIn,
  machineIn,
  objectName,
  specOf,
  transitionOf,
} from '../samples.ts';
import { writesTo } from '../writes.ts';

const [provisioning] = specOf(1).interfaces;

/** Each shares exactly one property with node1. */
const CONFLICTING: readonly (readonly [what: string, spec: MachineSpec, message: string])[] = [
  ['a host name', specOf(2, { hostname: specOf(1).hostname }), 'host name node1 is taken by node1'],
  [
    'a MAC',
    specOf(2, {
      interfaces: [{ name: 'x', mac: provisioning?.mac ?? null, network: objectName('n'), address: null, mtu: null }],
    }),
    'MAC 52:54:00:00:00:01 of node2 is taken by node1',
  ],
  [
    'a reserved address',
    specOf(2, {
      interfaces: [
        { name: 'x', mac: null, network: objectName('n'), address: provisioning?.address ?? null, mtu: null },
      ],
    }),
    'address 10.0.100.1 of node2 is taken by node1',
  ],
  ['a BMC address', specOf(2, { bmc: specOf(1).bmc }), 'BMC address 10.2.10.1 of node2 is taken by node1'],
];

export function inventoryConflictsContract(engine: Engine): void {
  const opened = useStore(engine);

  it.each(CONFLICTING)('refuses %s that a new machine shares with another', async (_, spec, message) => {
    const { store } = opened();
    await addMachine(store, 1);
    await expect(addMachines(store, spec)).rejects.toMatchObject({ code: 'conflict', message });
    expect((await store.inventory()).machines).toHaveLength(1);
  });

  it.each(CONFLICTING)('refuses %s that a changed machine would share with another', async (_, spec, message) => {
    const { store } = opened();
    const [, second] = await addMachines(store, specOf(1), specOf(2));
    if (!second) throw new Error('two machines were written');
    const change = { id: second.id, version: 1, spec, source: 'api' };
    await expect(store.writeInventory(inventoryWrites(1, { changeMachines: [change] }))).rejects.toMatchObject({
      code: 'conflict',
      message,
    });
    expect(await store.machine(second.id)).toEqual(second);
  });

  it.each(CONFLICTING)('refuses %s that two new machines of one plan share', async (_, spec, message) => {
    const { store } = opened();
    await expect(addMachines(store, specOf(1), spec)).rejects.toMatchObject({ code: 'conflict', message });
    expect((await store.inventory()).machines).toEqual([]);
  });

  it('lists every conflict of a plan', async () => {
    const { store } = opened();
    await addMachine(store, 1);
    await expect(addMachines(store, { ...specOf(1), hostname: specOf(2).hostname })).rejects.toMatchObject({
      code: 'conflict',
      message: 'MAC 52:54:00:00:00:01 of node2 is taken by node1, and 3 more',
      details: [
        'MAC 52:54:00:00:00:01 of node2 is taken by node1',
        'address 10.0.100.1 of node2 is taken by node1',
        'address 10.1.200.1 of node2 is taken by node1',
        'BMC address 10.2.10.1 of node2 is taken by node1',
      ],
    });
  });

  it('lets two machines swap everything in one plan', async () => {
    const { store } = opened();
    const [first, second] = await addMachines(store, specOf(1), specOf(2));
    if (!first || !second) throw new Error('two machines were written');
    const changeMachines = [
      { id: first.id, version: 1, spec: second.spec, source: 'api' },
      { id: second.id, version: 1, spec: first.spec, source: 'api' },
    ];
    await store.writeInventory(inventoryWrites(1, { changeMachines }));
    expect((await machineIn(store, first.id)).spec.hostname).toBe('node2');
    expect((await machineIn(store, second.id)).spec.hostname).toBe('node1');
  });

  it('lets two interfaces of one machine share a MAC', async () => {
    const { store } = opened();
    const spec = specOf(1);
    const [card] = spec.interfaces;
    if (!card) throw new Error('the sample has an interface');
    const vlan = { ...card, name: 'eno1.200', network: objectName('production'), address: null };
    await addMachines(store, { ...spec, interfaces: [card, vlan] });
    expect((await store.inventory()).machines[0]?.spec.interfaces).toHaveLength(2);
  });

  it('frees what a removed machine held, whichever way it was removed', async () => {
    const { store } = opened();
    const declaredAway = await addMachine(store, 1);
    const removal = { id: declaredAway.id, version: 1, lifecycle: lifecycleIn('removed'), effects: [] };
    await store.writeInventory(
      inventoryWrites(1, { removeMachines: [removal], createMachines: [creationOf(specOf(1))] }),
    );
    const [successor] = (await store.inventory()).machines;
    if (!successor) throw new Error('the successor was written');
    await writesTo(store).transition(transitionOf(successor, 'removed'));
    const third = await addMachine(store, 1);
    expect(new Set([declaredAway.id, successor.id, third.id]).size).toBe(3);
    const inventory = await store.inventory();
    expect(inventory.machines.map(({ id }) => id)).toEqual([third.id]);
    expect(inventory.removed?.map(({ id }) => id)).toEqual([declaredAway.id, successor.id]);
  });
}
