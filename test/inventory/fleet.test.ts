import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { inventoryOf } from './memory-store.ts';
import { declaredBy, node, rackDocument } from './rack.ts';

const UUID = '7c1e2d80-9d4b-4b1f-8a39-0c2f6f0a7d11';
const host = (text: string) => mustParse(parseHostname(text));
const name = (text: string) => mustParse(parseObjectName(text));
const ip = (text: string) => mustParse(parseIpv4(text));
const mac = (text: string) => mustParse(parseMac(text));

function rackFleet(): { fleet: Fleet; a1: Machine; a2: Machine } {
  const document = rackDocument();
  node(document, 0).uuid = UUID;
  const inventory = inventoryOf(declaredBy({ lab: document }));
  const fleet = new Fleet();
  fleet.replace(inventory);
  const [a1, a2] = inventory.machines;
  if (!a1 || !a2) throw new Error('the rack has two nodes');
  return { fleet, a1, a2 };
}

const LATER = { revision: 7, declaredRevision: 5 };

describe('Fleet', () => {
  it('finds a machine by each of its identifiers', () => {
    const { fleet, a1 } = rackFleet();
    expect(fleet.machineById(a1.id)).toBe(a1);
    expect(fleet.machineByHostname(host('a1'))).toBe(a1);
    expect(fleet.machineByMac(mac('52:54:00:00:01:01'))).toBe(a1);
    expect(fleet.machineByMac(mac('52:54:00:00:02:01'))).toBe(a1);
    expect(fleet.machineByUuid(UUID as never)).toBe(a1);
    expect(fleet.machineByAddress(ip('10.0.2.11'))).toBe(a1);
    expect(fleet.size).toBe(2);
    expect([...fleet.machines()].map(({ spec }) => spec.hostname)).toEqual(['a1', 'a2']);
  });

  it('returns null for unknown machines and BMCs', () => {
    const { fleet } = rackFleet();
    expect(fleet.machineByMac(mac('52:54:00:00:09:09'))).toBeNull();
    expect(fleet.machineByAddress(ip('10.0.9.11'))).toBeNull();
    expect(fleet.network(name('none'))).toBeNull();
    expect(fleet.networkOf(ip('192.168.1.1'))).toBeNull();
  });

  it('finds catalogue objects', () => {
    const { fleet } = rackFleet();
    expect(fleet.site(name('lab'))?.region).toBe('north');
    expect(fleet.sku(name('small'))?.gpus).toBe(2);
    expect(fleet.profile(name('nixos'))?.kind).toBe('nixos');
    expect(fleet.cluster(name('prod'))?.network).toBe('work');
    expect(fleet.networkOf(ip('10.0.2.77'))?.name).toBe('work');
    expect([...fleet.networks()].map((network) => network.name)).toEqual(['boot', 'work']);
  });

  it('prefers the narrower network when two sites overlap', () => {
    const { fleet, a1 } = rackFleet();
    const wide = { ...fleet.network(name('boot')), name: 'wide', prefix: { network: ip('10.0.0.0'), length: 8 } };
    const narrow = fleet.network(name('work'));
    fleet.replace({ ...fleet.inventory(), machines: [a1], networks: [wide, narrow] as never });
    expect(fleet.networkOf(ip('10.0.2.77'))?.name).toBe('work');
    expect(fleet.networkOf(ip('10.9.9.9'))?.name).toBe('wide');
    expect(fleet.network(name('boot'))).toBeNull();
  });

  it('updates a machine that changes its name, its cards and its addresses', () => {
    const { fleet, a1 } = rackFleet();
    const [card] = a1.spec.interfaces;
    const moved = { ...card, mac: mac('52:54:00:00:01:99'), address: ip('10.0.1.99') } as NonNullable<typeof card>;
    fleet.update([{ ...a1, spec: { ...a1.spec, hostname: host('z1'), uuid: null, interfaces: [moved] } }], LATER);
    expect(fleet.machineByHostname(host('a1'))).toBeNull();
    expect(fleet.machineByMac(mac('52:54:00:00:02:01'))).toBeNull();
    expect(fleet.machineByAddress(ip('10.0.1.11'))).toBeNull();
    expect(fleet.machineByUuid(UUID as never)).toBeNull();
    expect(fleet.machineByAddress(ip('10.0.1.99'))?.id).toBe(a1.id);
    expect(fleet.size).toBe(2);
  });

  it('updates two machines that swap their cards, in one update or in two', () => {
    const { fleet, a1, a2 } = rackFleet();
    const swapped = [
      { ...a1, spec: { ...a1.spec, interfaces: a2.spec.interfaces } },
      { ...a2, spec: { ...a2.spec, interfaces: a1.spec.interfaces } },
    ] as const;
    const looksRight = () => {
      expect(fleet.machineByMac(mac('52:54:00:00:01:01'))?.id).toBe(a2.id);
      expect(fleet.machineByMac(mac('52:54:00:00:01:02'))?.id).toBe(a1.id);
    };
    fleet.update(swapped, LATER);
    looksRight();
    fleet.update([a1, a2], LATER);
    fleet.update([swapped[0]], LATER);
    fleet.update([swapped[1]], LATER);
    looksRight();
  });

  it('drops a removed machine, and adds a new one', () => {
    const { fleet, a1 } = rackFleet();
    fleet.update([{ ...a1, lifecycle: { ...a1.lifecycle, state: 'removed' } }], LATER);
    expect(fleet.machineById(a1.id)).toBeNull();
    expect(fleet.machineByMac(mac('52:54:00:00:01:01'))).toBeNull();
    expect(fleet.size).toBe(1);
    fleet.update([a1], LATER);
    expect(fleet.machineByMac(mac('52:54:00:00:01:01'))).toBe(a1);
  });

  it('finds a removed machine by card or chassis until another machine has it', () => {
    const { fleet, a1, a2 } = rackFleet();
    const card = mac('52:54:00:00:01:01');
    const stranger = mac('52:54:00:00:09:09');
    expect(fleet.removedMachine(card, null)).toBeNull();
    const gone = { ...a1, lifecycle: { ...a1.lifecycle, state: 'removed' } } as const;
    fleet.update([gone], LATER);
    expect(fleet.removedMachine(card, null)).toBe(gone);
    expect(fleet.removedMachine(stranger, UUID as never)).toBe(gone);
    expect(fleet.removedMachine(stranger, null)).toBeNull();
    expect(fleet.removedByHostname(a1.spec.hostname)).toBe(gone);
    expect(fleet.removedByHostname(a2.spec.hostname)).toBeNull();

    const restarted = new Fleet();
    restarted.replace(fleet.inventory());
    expect(restarted.removedMachine(card, null)).toEqual(gone);

    fleet.update([{ ...a2, spec: { ...a1.spec, hostname: host('anew') } }], LATER);
    expect(fleet.removedMachine(card, null)).toBeNull();
    expect(fleet.removedMachine(stranger, UUID as never)).toBeNull();
  });

  it('calls the watchers of a machine after it has changed, and of every machine after a replacement', () => {
    const { fleet, a1, a2 } = rackFleet();
    const seen: unknown[] = [];
    const watch = (machine: Machine) =>
      fleet.watch(machine.id, () => seen.push([machine.spec.hostname, fleet.machineById(machine.id)?.version ?? null]));
    const unwatch = [watch(a1), watch(a1), watch(a2)];
    fleet.update([{ ...a1, version: 9 }], LATER);
    expect(seen.splice(0)).toEqual([
      ['a1', 9],
      ['a1', 9],
    ]);
    unwatch[0]?.();
    fleet.replace({ ...fleet.inventory(), machines: [a2] });
    expect(seen.splice(0)).toEqual([
      ['a1', null],
      ['a2', a2.version],
    ]);
    for (const stop of unwatch) stop();
    fleet.update([a1, a2], LATER);
    expect(seen).toEqual([]);
  });

  it('returns the inventory with later updates', () => {
    const { fleet, a1, a2 } = rackFleet();
    const copy = new Fleet();
    copy.replace(fleet.inventory());
    expect(copy.inventory()).toEqual(fleet.inventory());
    fleet.update([{ ...a1, lifecycle: { ...a1.lifecycle, state: 'removed' } }], LATER);
    expect(fleet.inventory()).toMatchObject({ machines: [a2], ...LATER });
  });
});
