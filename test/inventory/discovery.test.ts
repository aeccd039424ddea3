import { describe, expect, it } from 'vitest';
import { macFromBytes } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { Discovery } from '../../appliance/inventory/discovery.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { factsOf, MAC, NOW, networkWith, UUID } from '../boot/boot-fixtures.ts';
import { counter, MemoryStore } from './memory-store.ts';

function discovery() {
  const store = new MemoryStore();
  const fleet = new Fleet();
  const clock = { now: NOW };
  const warnings: string[] = [];
  const errors: string[] = [];
  const log = {
    warn: (_: object, words: string) => void warnings.push(words),
    error: (_: object, words: string) => void errors.push(words),
  };
  const followed: ConstructorParameters<typeof Discovery>[0]['store'] = {
    changesSince: async () => ({ ...store.held, catalogueChanged: false, machines: [...store.held.machines] }),
    writeInventory: async (writes) => {
      const written = await store.writeInventory(writes);
      fleet.replace(store.held);
      return written;
    },
  };
  const found = new Discovery({ store: followed, fleet, now: () => clock.now, newId: counter(), log });
  return { found, store, fleet, clock, warnings, errors };
}
const numbered = (n: number) => mustParse(macFromBytes(Uint8Array.from([0x52, 0x54, 0, 9, n >> 8, n & 255])));

describe('a discovered machine', () => {
  it('is added with the facts of its request', async () => {
    const { found, fleet, store } = discovery();
    await found.seen(factsOf(11, { uuid: UUID, serial: 'SN1' }), networkWith());
    expect(fleet.machineByMac(MAC)).toMatchObject({
      source: 'network',
      lifecycle: { state: 'discovered', since: NOW },
      spec: { hostname: 'unknown-525400123456', architecture: 'arm64', uuid: UUID, serial: 'SN1' },
    });
    expect(store.writes[0]?.events).toMatchObject([{ kind: 'node.discovered', actor: 'network' }]);
  });

  it('is added once for repeated and concurrent requests', async () => {
    const { found, store } = discovery();
    const request = () => found.seen(factsOf(7), networkWith());
    await Promise.all([request(), request(), request()]);
    await request();
    expect(store.writes).toHaveLength(1);
  });

  it('is not added on a network that ignores unknown machines, nor without a MAC', async () => {
    const { found, store } = discovery();
    await found.seen(factsOf(7), networkWith({ unknown: 'ignore' }));
    await found.seen(factsOf(7, { mac: null }), networkWith());
    expect(store.writes).toEqual([]);
  });

  it('is added together with concurrent ones, and only one gets a shared UUID', async () => {
    const { found, fleet, store, errors } = discovery();
    const many = Array.from({ length: 40 }, (_, n) => factsOf(7, { mac: numbered(n), uuid: UUID }));
    await Promise.all(many.map((facts) => found.seen(facts, networkWith())));
    expect(errors).toEqual([]);
    expect(store.writes).toHaveLength(40);
    expect(many.filter(({ mac }) => mac && fleet.machineByMac(mac)?.spec.uuid === UUID)).toHaveLength(1);
  });

  it('does not take over the UUID of a known machine', async () => {
    const { found, fleet } = discovery();
    await found.seen(factsOf(7, { uuid: UUID }), networkWith());
    await found.seen(factsOf(7, { uuid: UUID, mac: numbered(1) }), networkWith());
    expect(fleet.machineByMac(numbered(1))?.spec.uuid).toBeNull();
  });

  it('is not added again after it was removed, by card or by chassis', async () => {
    const { found, fleet, store } = discovery();
    await found.seen(factsOf(7, { uuid: UUID }), networkWith());
    const [machine] = store.held.machines;
    if (!machine) throw new Error('the machine was not added');
    fleet.update([{ ...machine, lifecycle: { ...machine.lifecycle, state: 'removed' } }], fleet.at);
    await found.seen(factsOf(7, { uuid: null }), networkWith());
    await found.seen(factsOf(7, { uuid: UUID, mac: numbered(1) }), networkWith());
    expect(store.writes).toHaveLength(1);
  });

  it('is added after a version conflict', async () => {
    const { found, store, fleet } = discovery();
    let times = 0;
    store.meanwhile = () => {
      if (times++ === 0) store.held = { ...store.held, declaredRevision: store.held.declaredRevision + 1 };
    };
    await found.seen(factsOf(7), networkWith());
    expect(fleet.machineByMac(MAC)).not.toBeNull();
  });

  it('is dropped over the limit per minute', async () => {
    const { found, store, clock, warnings } = discovery();
    for (let n = 0; n < 500; n++) await found.seen(factsOf(7, { mac: numbered(n) }), networkWith());
    expect(store.writes).toHaveLength(60);
    expect(warnings).toEqual(['too many unknown machines: those over the limit are not added to the inventory']);
    clock.now += 60_000;
    await found.seen(factsOf(7, { mac: numbered(600) }), networkWith());
    expect(store.writes).toHaveLength(61);
  });

  it('is only logged when the store fails', async () => {
    const { found, store, errors } = discovery();
    store.meanwhile = () => {
      throw new Error('the disk is gone');
    };
    await found.seen(factsOf(7), networkWith());
    expect(errors).toEqual(['a discovered machine could not be added to the inventory']);
  });
});
