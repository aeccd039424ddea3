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

describe('a machine that showed up by itself', () => {
  it('is listed for acceptance with what it told of itself', async () => {
    const { found, fleet, store } = discovery();
    await found.seen(factsOf(11, { uuid: UUID, serial: 'SN1' }), networkWith());
    expect(fleet.machineByMac(MAC)).toMatchObject({
      source: 'network',
      lifecycle: { state: 'discovered', since: NOW },
      spec: { hostname: 'unknown-525400123456', architecture: 'arm64', uuid: UUID, serial: 'SN1' },
    });
    expect(store.writes[0]?.events).toMatchObject([{ kind: 'node.discovered', actor: 'network' }]);
  });

  it('is listed once, however often it asks and however fast', async () => {
    const { found, store } = discovery();
    const asks = () => found.seen(factsOf(7), networkWith());
    await Promise.all([asks(), asks(), asks()]);
    await asks();
    expect(store.writes).toHaveLength(1);
  });

  it('is not listed where unknown machines are ignored, nor without a MAC', async () => {
    const { found, store } = discovery();
    await found.seen(factsOf(7), networkWith({ unknown: 'ignore' }));
    await found.seen(factsOf(7, { mac: null }), networkWith());
    expect(store.writes).toEqual([]);
  });

  it('is listed with all others that show up at the same moment, each with a chassis of its own', async () => {
    const { found, fleet, store, errors } = discovery();
    const many = Array.from({ length: 40 }, (_, n) => factsOf(7, { mac: numbered(n), uuid: UUID }));
    await Promise.all(many.map((facts) => found.seen(facts, networkWith())));
    expect(errors).toEqual([]);
    expect(store.writes).toHaveLength(40);
    expect(many.filter(({ mac }) => mac && fleet.machineByMac(mac)?.spec.uuid === UUID)).toHaveLength(1);
  });

  it('does not take over the UUID of a machine that is known', async () => {
    const { found, fleet } = discovery();
    await found.seen(factsOf(7, { uuid: UUID }), networkWith());
    await found.seen(factsOf(7, { uuid: UUID, mac: numbered(1) }), networkWith());
    expect(fleet.machineByMac(numbered(1))?.spec.uuid).toBeNull();
  });

  it('is not listed again after it was removed, neither by its card nor by its chassis', async () => {
    const { found, fleet, store } = discovery();
    await found.seen(factsOf(7, { uuid: UUID }), networkWith());
    const [machine] = store.held.machines;
    if (!machine) throw new Error('it was listed');
    fleet.update([{ ...machine, lifecycle: { ...machine.lifecycle, state: 'removed' } }], fleet.at);
    await found.seen(factsOf(7, { uuid: null }), networkWith());
    await found.seen(factsOf(7, { uuid: UUID, mac: numbered(1) }), networkWith());
    expect(store.writes).toHaveLength(1);
  });

  it('is listed also when somebody else writes at the same moment', async () => {
    const { found, store, fleet } = discovery();
    let times = 0;
    store.meanwhile = () => {
      if (times++ === 0) store.held = { ...store.held, declaredRevision: store.held.declaredRevision + 1 };
    };
    await found.seen(factsOf(7), networkWith());
    expect(fleet.machineByMac(MAC)).not.toBeNull();
  });

  it('cannot fill the inventory by making up addresses', async () => {
    const { found, store, clock, warnings } = discovery();
    for (let n = 0; n < 500; n++) await found.seen(factsOf(7, { mac: numbered(n) }), networkWith());
    expect(store.writes).toHaveLength(60);
    expect(warnings).toEqual(['more unknown machines show up than are listed']);
    clock.now += 60_000;
    await found.seen(factsOf(7, { mac: numbered(600) }), networkWith());
    expect(store.writes).toHaveLength(61);
  });

  it('does not disturb anybody when the store is away', async () => {
    const { found, store, errors } = discovery();
    store.meanwhile = () => {
      throw new Error('the disk is gone');
    };
    await found.seen(factsOf(7), networkWith());
    expect(errors).toEqual(['a machine that showed up could not be listed']);
  });
});
