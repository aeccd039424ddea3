// Writes the node of an onboarding run to the inventory: a new one, an existing one with the fields of the request, and the network card of
// the machine that turned out to be it. A node that an inventory file declares is never changed here: the file would undo it.

import { ColdironError } from '../../domain/errors.ts';
import { type NewAuditEntry, type NewEvent, newEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { lifeIn } from '../../domain/lifecycle.ts';
import {
  type BmcEndpoint,
  type Machine,
  type MachineId,
  type MachineSpec,
  NODE_DEFAULTS,
} from '../../domain/machine.ts';
import type { Onboarding } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { API, NETWORK } from '../../inventory/ownership.ts';
import type { InventoryWrites, Store } from '../../store/store.ts';
import type { BootCard } from './bmc-cards.ts';

export interface NodeWritesDeps {
  readonly store: Pick<Store, 'writeInventory' | 'changesSince'>;
  readonly fleet: Fleet;
  readonly now: () => Instant;
  readonly newId: () => string;
}

const ATTEMPTS = 8;

/** `card`: the one that its BMC names. Without a MAC address it boots nothing until one is known. */
export async function createNode(deps: NodeWritesDeps, run: Onboarding, card: BootCard | null): Promise<MachineId> {
  const { now, newId } = deps;
  const id = newId() as MachineId;
  const spec = specOf(deps, run, card);
  await write(deps, () => {
    const lifecycle = lifeIn('registered', now());
    return { createMachines: [{ id, spec, source: API, lifecycle }], ...recorded(deps, run, id, 'node.created', spec) };
  });
  return id;
}

/** The node of a run, as it is created. */
export function specOf(deps: Pick<NodeWritesDeps, 'fleet'>, run: Onboarding, card: BootCard | null): MachineSpec {
  const { fleet } = deps;
  const { hostname, site, sku, profile } = run.request;
  return {
    ...NODE_DEFAULTS,
    ...{ hostname, site, sku, profile, cluster: null, uuid: null, serial: null },
    interfaces: card === null ? [] : [{ name: 'eth0', ...card, address: null, mtu: null }],
    architecture: fleet.sku(sku)?.architecture ?? 'x86_64',
    bmc: bmcOf(deps, run),
    enrollment: enrollmentOf(deps, run),
    ...{ secureBoot: null, gpus: null, region: null, access: null, labels: {} },
  };
}

/** A reason when it is declared differently, by a file. Nothing is written when it is as requested already. */
export async function adoptNode(deps: NodeWritesDeps, run: Onboarding, id: MachineId): Promise<string | null> {
  const machine = mustExist(deps, id);
  const { hostname, site, sku, profile } = run.request;
  const bmc = machine.spec.bmc ?? bmcOf(deps, run);
  const enrollment = machine.spec.enrollment ?? enrollmentOf(deps, run);
  const wanted = { ...machine.spec, hostname, site, sku, profile, bmc, enrollment };
  const differing = (['hostname', 'site', 'sku', 'profile'] as const)
    .filter((key) => machine.spec[key] !== wanted[key])
    .map((key) => `${key} is ${machine.spec[key] ?? 'not set'}, not ${wanted[key]}`);
  const isDiscovered = machine.lifecycle.state === 'discovered';
  if (differing.length === 0 && machine.spec.bmc !== null && !isDiscovered) return null;
  if (machine.source !== API && machine.source !== NETWORK) {
    const what = differing.length > 0 ? differing.join('; ') : 'it has no BMC';
    return `${machine.spec.hostname} is declared by ${machine.source}: ${what}. Change it there and apply that`;
  }
  await write(deps, () => {
    const { version, lifecycle } = mustExist(deps, id);
    const accepted = lifecycle.state === 'discovered' ? { lifecycle: lifeIn('registered', deps.now()) } : {};
    const change = { id, version, spec: wanted, source: API, ...accepted };
    return { changeMachines: [change], ...recorded(deps, run, id, 'node.changed', wanted) };
  });
  return null;
}

/** The discovered machine becomes this node: its card, and what it said of itself. Its own row is removed. */
export async function claimNode(
  deps: NodeWritesDeps,
  run: Onboarding,
  id: MachineId,
  discovered: MachineId,
): Promise<string | null> {
  const known = mustExist(deps, id);
  if (known.source !== API && known.source !== NETWORK) {
    return `${known.spec.hostname} is declared by ${known.source} without a MAC address: declare it there and apply that`;
  }
  await write(deps, () => {
    const { version, spec } = mustExist(deps, id);
    const found = deps.fleet.machineById(discovered);
    if (found?.lifecycle.state !== 'discovered') {
      throw new ColdironError('conflict', 'the discovered machine is not there any more');
    }
    const { interfaces, uuid, serial, architecture } = found.spec;
    const claimed = { ...spec, interfaces, uuid: spec.uuid ?? uuid, serial: spec.serial ?? serial, architecture };
    const note = `it is ${spec.hostname}, which was onboarded`;
    return {
      changeMachines: [{ id, version, spec: claimed, source: API }],
      removeMachines: [
        { id: discovered, version: found.version, lifecycle: { ...lifeIn('removed', deps.now()), note } },
      ],
      ...recorded(deps, run, id, 'node.changed', claimed),
    };
  });
  return null;
}

function bmcOf({ fleet }: Pick<NodeWritesDeps, 'fleet'>, { request }: Onboarding): BmcEndpoint {
  const login = fleet.site(request.site)?.onboarding.bmc;
  return { driver: 'ipmi', username: null, passwordFile: null, ...login, address: request.bmcAddress };
}

/** A run is complete only when its node has enrolled: by itself, unless the profile says how. */
const enrollmentOf = ({ fleet }: Pick<NodeWritesDeps, 'fleet'>, { request }: Onboarding): MachineSpec['enrollment'] =>
  (fleet.profile(request.profile)?.enrollment ?? null) === null ? 'first-boot' : null;

function mustExist({ fleet }: NodeWritesDeps, id: MachineId): Machine {
  const machine = fleet.machineById(id);
  if (machine === null) throw new ColdironError('not_found', `there is no node with the id ${id}`);
  return machine;
}

type Writes = Partial<InventoryWrites> & Pick<InventoryWrites, 'events' | 'audit'>;

/** Decided again when another writer was first. */
async function write({ store, fleet }: NodeWritesDeps, decide: () => Writes): Promise<void> {
  let { declaredRevision } = fleet.at;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const none = { putCatalogue: [], dropCatalogue: [], createMachines: [], changeMachines: [], removeMachines: [] };
      await store.writeInventory({ ...none, declaredRevision, ...decide() });
      return;
    } catch (error) {
      const raced = error instanceof ColdironError && error.code === 'version_conflict';
      if (!raced || attempt === ATTEMPTS) throw error;
      ({ declaredRevision } = await store.changesSince(fleet.at.revision));
    }
  }
}

function recorded(
  { now }: NodeWritesDeps,
  { requestedBy: actor, correlationId, id: run }: Onboarding,
  machine: MachineId,
  kind: 'node.created' | 'node.changed',
  { hostname, sku, profile, interfaces, bmc }: MachineSpec,
): { readonly events: readonly NewEvent[]; readonly audit: readonly NewAuditEntry[] } {
  const at = now();
  const macs = interfaces.flatMap(({ mac }) => mac ?? []);
  const after = { onboarding: run, sku, profile, macs, bmc: bmc?.address ?? null };
  const details = [`onboarding ${run}`, ...macs.map((mac) => `MAC address ${mac}`)];
  return {
    events: [
      newEvent({ at, actor, machine, correlationId, onboarding: run }, kind, { name: hostname, source: API, details }),
    ],
    audit: [{ at, actor, action: kind, target: `node:${hostname}`, correlationId, before: null, after }],
  };
}
