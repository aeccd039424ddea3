// The inventory, indexed once, so that planning all nodes takes linear time.

import { type Cluster, type Profile, type RoceAssignment, roceName } from '../domain/catalogue.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import type { Hostname, ObjectName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import { STATES } from '../domain/states.ts';

export interface PlanIndex {
  readonly declaredRevision: number;
  readonly sites: ReadonlyMap<ObjectName, Site>;
  readonly networks: ReadonlyMap<ObjectName, SiteNetwork>;
  readonly profiles: ReadonlyMap<ObjectName, Profile>;
  readonly clusters: ReadonlyMap<ObjectName, Cluster>;
  roceOf(spec: MachineSpec): RoceAssignment | null;
  /** Machines in service, by host name. */
  readonly machines: readonly Machine[];
  machineByHostname(hostname: Hostname): Machine | null;
  /** Members in service, by host name. */
  membersOf(cluster: ObjectName): readonly Machine[];
  /** The result of `make` for an object of the inventory, computed once. */
  once<Key extends object, Value>(key: Key, make: (key: Key) => Value): Value;
}

/** A discovered machine is not a node yet; a retired or removed machine no longer is. */
export const inService = ({ lifecycle }: Machine): boolean => STATES[lifecycle.state].inService;

export function indexInventory(inventory: Inventory): PlanIndex {
  const machines = inventory.machines.filter(inService).sort(byHostname);
  const hostnames = new Map(machines.map((machine) => [machine.spec.hostname, machine]));
  const members = Map.groupBy(machines, ({ spec }) => spec.cluster);
  const roce = byName(inventory.roce);
  const made = new WeakMap<object, unknown>();
  return {
    declaredRevision: inventory.declaredRevision,
    sites: byName(inventory.sites),
    networks: byName(inventory.networks),
    profiles: byName(inventory.profiles),
    clusters: byName(inventory.clusters),
    roceOf: ({ site, hostname }) => (site === null ? null : (roce.get(roceName(site, hostname)) ?? null)),
    machines,
    machineByHostname: (hostname) => hostnames.get(hostname) ?? null,
    membersOf: (cluster) => members.get(cluster) ?? [],
    once: <Key extends object, Value>(key: Key, make: (key: Key) => Value): Value => {
      if (!made.has(key)) made.set(key, make(key));
      return made.get(key) as Value;
    },
  };
}

/** By code unit, so that the order does not depend on the locale. */
const byHostname = (a: Machine, b: Machine): number =>
  a.spec.hostname < b.spec.hostname ? -1 : Number(a.spec.hostname > b.spec.hostname);

const byName = <T extends { readonly name: ObjectName }>(values: readonly T[]): ReadonlyMap<ObjectName, T> =>
  new Map(values.map((value) => [value.name, value]));
