// Which node a caller means: by id, by host name or by MAC address, however it is spelled.

import { ColdironError } from '../domain/errors.ts';
import { parseMac } from '../domain/mac.ts';
import { type Machine, parseMachineId } from '../domain/machine.ts';
import { parseHostname } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import type { ManagementDeps } from './deps.ts';

type Edge = Pick<ManagementDeps, 'fleet' | 'store'>;

export async function findNode({ fleet, store }: Edge, reference: string): Promise<Machine> {
  const id = parseMachineId(reference);
  // Removed nodes have left the fleet; by their id they can still be looked at.
  const byId = id.ok ? (fleet.machineById(id.value) ?? (await store.machine(id.value))) : null;
  const machine = byId ?? knownAs({ fleet }, reference);
  if (machine) return machine;
  throw new ColdironError('not_found', `no node has this id, host name or MAC address: ${shown(reference)}`);
}

/** For whoever reads: a removed node still has its story, and its screen tells its name and its card. */
export async function findNodeEverKnown(edge: Edge, reference: string): Promise<Machine> {
  return everKnownAs(edge, reference) ?? (await findNode(edge, reference));
}

export function everKnownAs({ fleet }: Pick<Edge, 'fleet'>, reference: string): Machine | null {
  const known = knownAs({ fleet }, reference);
  if (known) return known;
  const hostname = parseHostname(reference.toLowerCase());
  const mac = parseMac(reference);
  return (
    (hostname.ok ? fleet.removedByHostname(hostname.value) : null) ??
    (mac.ok ? fleet.removedMachine(mac.value, null) : null)
  );
}

/** A host name of twelve hex digits looks like a MAC address on a label: the name comes first. */
export function knownAs({ fleet }: Pick<Edge, 'fleet'>, reference: string): Machine | null {
  const hostname = parseHostname(reference.toLowerCase());
  const mac = parseMac(reference);
  return (
    (hostname.ok ? fleet.machineByHostname(hostname.value) : null) ??
    (mac.ok ? fleet.machineByMac(mac.value) : null) ??
    null
  );
}
