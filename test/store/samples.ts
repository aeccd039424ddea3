// Small, distinguishable values for the store's tests.

import { randomUUID } from 'node:crypto';
import type { Sku } from '../../appliance/domain/catalogue.ts';
import type { EffectId, EffectKind, NewEffect } from '../../appliance/domain/effect.ts';
import type { NewAuditEntry, NewEvent, StoredEvent } from '../../appliance/domain/event.ts';
import { EVENT_TABLE, type EventKind } from '../../appliance/domain/events/event-table.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { HOUR, type Instant, MINUTE } from '../../appliance/domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../appliance/domain/intent.ts';
import { type Ipv4, ipv4FromNumber, ipv4ToNumber, parseIpv4 } from '../../appliance/domain/ipv4.ts';
import type { Lease } from '../../appliance/domain/lease.ts';
import type { Lifecycle, LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { type Mac, parseMac } from '../../appliance/domain/mac.ts';
import {
  type Machine,
  type MachineId,
  type MachineSpec,
  macsOf,
  NODE_DEFAULTS,
  parseMachineId,
} from '../../appliance/domain/machine.ts';
import { type ObjectName, parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { InventoryWrites, Store } from '../../appliance/store/store.ts';
import type { Transition } from './writes.ts';

export const NOW: Instant = Date.UTC(2026, 0, 1);

export const objectName = (text: string): ObjectName => mustParse(parseObjectName(text));
export const mac = (n: number): Mac => mustParse(parseMac((0x52_54_00_00_00_00 + n).toString(16)));
export const address = (base: string, n: number): Ipv4 => ipv4FromNumber(ipv4ToNumber(mustParse(parseIpv4(base))) + n);
export const newMachineId = (): MachineId => mustParse(parseMachineId(randomUUID()));

export function specOf(n: number, changes: Partial<MachineSpec> = {}): MachineSpec {
  return {
    ...NODE_DEFAULTS,
    hostname: mustParse(parseHostname(`node${n}`)),
    site: objectName('lab'),
    sku: objectName('r640'),
    profile: objectName('worker'),
    cluster: null,
    architecture: 'x86_64',
    uuid: null,
    serial: `SN${n}`,
    interfaces: [
      { name: 'eno1', mac: mac(n), network: objectName('provisioning'), address: address('10.0.100.0', n), mtu: null },
      { name: 'eno2', mac: null, network: objectName('production'), address: address('10.1.200.0', n), mtu: null },
    ],
    bmc: { address: address('10.2.10.0', n), driver: 'ipmi', username: 'admin', passwordFile: null },
    secureBoot: null,
    gpus: 0,
    region: null,
    access: null,
    enrollment: null,
    labels: {},
    ...changes,
  };
}

export const lifecycleIn = (state: LifecycleState, changes: Partial<Lifecycle> = {}): Lifecycle => ({
  state,
  since: NOW,
  deadline: null,
  resume: null,
  failure: null,
  note: null,
  fallbackUsed: false,
  ...changes,
});

/** The store does not validate events, so its tests may use kinds and data that the event table does not have. */
export const newEvent = (kind: string, changes: Partial<Omit<StoredEvent, 'seq'>> = {}): NewEvent =>
  ({
    at: NOW,
    kind,
    actor: 'local:tester',
    machine: null,
    correlationId: null,
    data: kind in EVENT_TABLE ? sampleData(kind as EventKind) : null,
    ...changes,
  }) as unknown as NewEvent;

export const newAudit = (action: string, changes: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  at: NOW,
  actor: 'local:tester',
  action,
  target: 'node:node1',
  correlationId: null,
  before: null,
  after: null,
  ...changes,
});

export const newEffect = (machine: MachineId, kind: EffectKind = 'power-off'): NewEffect => ({
  id: randomUUID() as EffectId,
  machine,
  kind,
  correlationId: null,
});

export const intentFor = (machine: Machine, changes: Partial<ArmedIntent> = {}): ArmedIntent => ({
  id: randomUUID() as IntentId,
  kind: 'deploy',
  machine: machine.id,
  macs: macsOf(machine.spec),
  uuid: machine.spec.uuid,
  profile: objectName('worker'),
  actor: 'local:tester',
  armedAt: NOW,
  expiresAt: NOW + 30 * MINUTE,
  consumedAt: null,
  revokedAt: null,
  ...changes,
});

export const leaseOf = (n: number, changes: Partial<Lease> = {}): Lease => ({
  address: address('10.0.100.0', n),
  mac: mac(n),
  network: objectName('provisioning'),
  state: 'bound',
  grantedAt: NOW,
  expiresAt: NOW + HOUR,
  ...changes,
});

export const skuNamed = (name: string): Sku => ({
  name: objectName(name),
  description: '',
  active: true,
  architecture: 'x86_64',
  gpus: 0,
  regions: [],
  owner: null,
  minimum: null,
  hardware: 'warn',
});

export const inventoryWrites = (declaredRevision: number, changes: Partial<InventoryWrites>): InventoryWrites => ({
  declaredRevision,
  putCatalogue: [],
  dropCatalogue: [],
  createMachines: [],
  changeMachines: [],
  removeMachines: [],
  events: [],
  audit: [],
  ...changes,
});

export const creationOf = (spec: MachineSpec): InventoryWrites['createMachines'][number] => ({
  id: newMachineId(),
  spec,
  source: 'rack.yaml',
  lifecycle: lifecycleIn('registered'),
});

/** Adds machines with these specs to the inventory, and returns them as stored, in the same order. */
export async function addMachines(store: Store, ...specs: MachineSpec[]): Promise<Machine[]> {
  const { declaredRevision } = await store.inventory();
  const createMachines = specs.map(creationOf);
  await store.writeInventory(inventoryWrites(declaredRevision, { createMachines }));
  return Promise.all(createMachines.map(({ id }) => machineIn(store, id)));
}

export async function addMachine(store: Store, n: number): Promise<Machine> {
  const [machine] = await addMachines(store, specOf(n));
  if (!machine) throw new Error('the machine was not written');
  return machine;
}

export async function machineIn(store: Store, id: MachineId): Promise<Machine> {
  const machine = await store.machine(id);
  if (!machine) throw new Error(`the store has no machine ${id}`);
  return machine;
}

export const transitionOf = (
  machine: Machine,
  state: LifecycleState,
  changes: Partial<Transition> = {},
): Transition => ({
  machine: machine.id,
  version: machine.version,
  lifecycle: lifecycleIn(state),
  effects: [],
  events: [],
  audit: [],
  ...changes,
});

export const allEvents = (store: Store) => store.events({ limit: 10_000 });
export const eventKinds = async (store: Store): Promise<string[]> => (await allEvents(store)).map(({ kind }) => kind);
