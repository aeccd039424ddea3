// The inventory in memory, for code that answers machines without reading the store. It is a copy of the store at some revision;
// its owner updates it.

import type { Cluster, Profile, RoceAssignment, Sku } from '../domain/catalogue.ts';
import type { ChassisUuid } from '../domain/chassis.ts';
import type { Catalogue, Inventory } from '../domain/inventory.ts';
import { contains, type Ipv4 } from '../domain/ipv4.ts';
import type { Mac } from '../domain/mac.ts';
import { addressesOf, type Machine, type MachineId, macsOf } from '../domain/machine.ts';
import type { Hostname, ObjectName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';

/** The revisions of the store that a copy corresponds to. */
export type Revisions = Pick<Inventory, 'revision' | 'declaredRevision'>;

/** It must only take note: it is called before a commit resolves. */
export type FleetObserver = (changed: readonly MachineId[] | null) => void;

export class Fleet {
  readonly #byId = new Map<MachineId, Machine>();
  readonly #byMac = new Map<Mac, Machine>();
  readonly #byUuid = new Map<ChassisUuid, Machine>();
  readonly #byHostname = new Map<Hostname, Machine>();
  readonly #byAddress = new Map<Ipv4, Machine>();
  readonly #byBmc = new Map<Ipv4, Machine>();
  readonly #discovered = new Map<MachineId, Machine>();
  readonly #removed = new Map<MachineId, Machine>();
  readonly #removedByMac = new Map<Mac, Machine>();
  readonly #removedByUuid = new Map<ChassisUuid, Machine>();
  readonly #sites = new Map<ObjectName, Site>();
  readonly #networks = new Map<ObjectName, SiteNetwork>();
  readonly #skus = new Map<ObjectName, Sku>();
  readonly #profiles = new Map<ObjectName, Profile>();
  readonly #clusters = new Map<ObjectName, Cluster>();
  #roce: readonly RoceAssignment[] = [];
  readonly #roceByHost = new Map<string, RoceAssignment>();
  #longestPrefixFirst: readonly SiteNetwork[] = [];
  #sources: ReadonlyMap<string, string> = new Map();
  #at: Revisions = { revision: 0, declaredRevision: 0 };
  readonly #watchers = new Map<MachineId, Set<() => void>>();
  readonly #observers = new Set<FleetObserver>();

  replace(inventory: Inventory): void {
    for (const index of [this.#byId, this.#byMac, this.#byUuid, this.#byHostname, this.#byAddress]) index.clear();
    for (const index of [this.#byBmc, this.#discovered]) index.clear();
    for (const index of [this.#removed, this.#removedByMac, this.#removedByUuid]) index.clear();
    this.#replaceCatalogue(inventory);
    this.#sources = inventory.sources;
    for (const machine of inventory.removed ?? []) this.#addRemoved(machine);
    this.#put(inventory.machines, inventory);
    this.#notify([...this.#watchers.keys()]);
    for (const observer of this.#observers) observer(null);
  }

  /** Adds or replaces machines; removed ones are moved to the removed indexes. */
  update(machines: readonly Machine[], revisions: Revisions): void {
    this.#put(machines, revisions);
    const ids = machines.map(({ id }) => id);
    this.#notify(ids);
    if (ids.length > 0) for (const observer of this.#observers) observer(ids);
  }

  /** Calls the observer after each update with the machines that it may have changed, null: all of them. Returns stop. */
  observe(observer: FleetObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** Calls the listener after each update of this machine, and after each replacement of the inventory. Returns unwatch. */
  watch(id: MachineId, listener: () => void): () => void {
    const listeners = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#watchers.get(id) === listeners) this.#watchers.delete(id);
    };
  }

  #notify(ids: readonly MachineId[]): void {
    if (this.#watchers.size === 0) return;
    for (const id of ids) for (const listener of [...(this.#watchers.get(id) ?? [])]) listener();
  }

  #put(machines: readonly Machine[], { revision, declaredRevision }: Revisions): void {
    this.#at = { revision, declaredRevision };
    // All old entries are deleted before new ones are added: two machines may have swapped a name or an address.
    for (const { id } of machines) this.#delete(id);
    for (const machine of machines) {
      if (machine.lifecycle.state === 'removed') this.#addRemoved(machine);
      else this.#add(machine);
    }
  }

  /** The inventory at the last update, without reading the store. */
  inventory(): Inventory {
    return {
      sites: [...this.#sites.values()],
      networks: [...this.#networks.values()],
      skus: [...this.#skus.values()],
      profiles: [...this.#profiles.values()],
      clusters: [...this.#clusters.values()],
      roce: this.#roce,
      machines: [...this.#byId.values()],
      removed: [...this.#removed.values()],
      sources: this.#sources,
      ...this.#at,
    };
  }

  /** The revisions at the last update: results computed at the same revisions are still valid. */
  get at(): Revisions {
    return this.#at;
  }

  get size(): number {
    return this.#byId.size;
  }

  machines(): IterableIterator<Machine> {
    return this.#byId.values();
  }

  machineById(id: MachineId): Machine | null {
    return this.#byId.get(id) ?? null;
  }

  /** Also one that was removed. */
  machineEverKnown(id: MachineId): Machine | null {
    return this.#byId.get(id) ?? this.#removed.get(id) ?? null;
  }

  machineByMac(mac: Mac): Machine | null {
    return this.#byMac.get(mac) ?? null;
  }

  machineByUuid(uuid: ChassisUuid): Machine | null {
    return this.#byUuid.get(uuid) ?? null;
  }

  /** The removed machine that had this MAC or UUID; null if an existing machine has it now. */
  removedMachine(mac: Mac, uuid: ChassisUuid | null): Machine | null {
    if (this.#byMac.has(mac)) return null;
    const sameCard = this.#removedByMac.get(mac);
    if (sameCard) return sameCard;
    return uuid === null || this.#byUuid.has(uuid) ? null : (this.#removedByUuid.get(uuid) ?? null);
  }

  /** The last removed machine of this name; null if an existing machine has it now. Called rarely, so there is no index. */
  removedByHostname(hostname: Hostname): Machine | null {
    if (this.#byHostname.has(hostname)) return null;
    let last: Machine | null = null;
    for (const machine of this.#removed.values()) {
      if (machine.spec.hostname !== hostname) continue;
      if (last === null || machine.lifecycle.since >= last.lifecycle.since) last = machine;
    }
    return last;
  }

  machineByHostname(hostname: Hostname): Machine | null {
    return this.#byHostname.get(hostname) ?? null;
  }

  /** Finds a machine by the address of one of its links, not of its BMC. */
  machineByAddress(address: Ipv4): Machine | null {
    return this.#byAddress.get(address) ?? null;
  }

  machineByBmc(address: Ipv4): Machine | null {
    return this.#byBmc.get(address) ?? null;
  }

  /** Undeclared machines that nobody has accepted yet, the oldest first. */
  discovered(): ReadonlyMap<MachineId, Machine> {
    return this.#discovered;
  }

  site(name: ObjectName): Site | null {
    return this.#sites.get(name) ?? null;
  }

  sites(): IterableIterator<Site> {
    return this.#sites.values();
  }

  network(name: ObjectName): SiteNetwork | null {
    return this.#networks.get(name) ?? null;
  }

  networks(): IterableIterator<SiteNetwork> {
    return this.#networks.values();
  }

  /** The network that contains an address; the narrowest one where sites overlap. */
  networkOf(address: Ipv4): SiteNetwork | null {
    return this.#longestPrefixFirst.find(({ prefix }) => contains(prefix, address)) ?? null;
  }

  sku(name: ObjectName): Sku | null {
    return this.#skus.get(name) ?? null;
  }

  skus(): IterableIterator<Sku> {
    return this.#skus.values();
  }

  profile(name: ObjectName): Profile | null {
    return this.#profiles.get(name) ?? null;
  }

  profiles(): IterableIterator<Profile> {
    return this.#profiles.values();
  }

  /** The high-speed links that are assigned to a host. */
  roceOf(site: string, hostname: string): RoceAssignment | null {
    return this.#roceByHost.get(`${site} ${hostname}`) ?? null;
  }

  cluster(name: ObjectName): Cluster | null {
    return this.#clusters.get(name) ?? null;
  }

  clusters(): IterableIterator<Cluster> {
    return this.#clusters.values();
  }

  #replaceCatalogue({ sites, networks, skus, profiles, clusters, roce }: Catalogue): void {
    fillIndex(this.#sites, sites);
    fillIndex(this.#networks, networks);
    fillIndex(this.#skus, skus);
    fillIndex(this.#profiles, profiles);
    fillIndex(this.#clusters, clusters);
    this.#roce = roce;
    this.#roceByHost.clear();
    for (const one of roce) this.#roceByHost.set(`${one.site} ${one.hostname}`, one);
    this.#longestPrefixFirst = networks.toSorted((a, b) => b.prefix.length - a.prefix.length);
  }

  #add(machine: Machine): void {
    const { hostname, uuid } = machine.spec;
    this.#byId.set(machine.id, machine);
    this.#byHostname.set(hostname, machine);
    if (uuid !== null) this.#byUuid.set(uuid, machine);
    for (const mac of macsOf(machine.spec)) this.#byMac.set(mac, machine);
    for (const address of addressesOf(machine.spec)) this.#byAddress.set(address, machine);
    if (machine.spec.bmc !== null) this.#byBmc.set(machine.spec.bmc.address, machine);
    if (machine.lifecycle.state === 'discovered') this.#discovered.set(machine.id, machine);
  }

  /** Of several machines that had the same card, the last one is kept. */
  #addRemoved(machine: Machine): void {
    const { uuid } = machine.spec;
    this.#removed.set(machine.id, machine);
    if (uuid !== null) this.#removedByUuid.set(uuid, machine);
    for (const mac of macsOf(machine.spec)) this.#removedByMac.set(mac, machine);
  }

  #delete(id: MachineId): void {
    const machine = this.#byId.get(id);
    if (!machine) return;
    const { hostname, uuid } = machine.spec;
    this.#byId.delete(id);
    drop(this.#byHostname, hostname, id);
    if (uuid !== null) drop(this.#byUuid, uuid, id);
    for (const mac of macsOf(machine.spec)) drop(this.#byMac, mac, id);
    for (const address of addressesOf(machine.spec)) drop(this.#byAddress, address, id);
    if (machine.spec.bmc !== null) drop(this.#byBmc, machine.spec.bmc.address, id);
    this.#discovered.delete(id);
  }
}

/** Deletes a key unless another machine has it now. */
function drop<Key>(index: Map<Key, Machine>, key: Key, id: MachineId): void {
  if (index.get(key)?.id === id) index.delete(key);
}

function fillIndex<T extends { readonly name: ObjectName }>(index: Map<ObjectName, T>, values: readonly T[]): void {
  index.clear();
  for (const value of values) index.set(value.name, value);
}
