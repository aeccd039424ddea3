// Finds a node by id, host name or MAC address in any notation.

import { ColdironError } from '../domain/errors.ts';
import { parseMac } from '../domain/mac.ts';
import { type Machine, parseMachineId } from '../domain/machine.ts';
import { parseHostname } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import type { ManagementDeps } from './deps.ts';

type Edge = Pick<ManagementDeps, 'fleet' | 'store'>;

export async function findNode({ fleet, store }: Edge, reference: string): Promise<Machine> {
  const id = parseMachineId(reference);
  // Removed nodes are not in the fleet; they can still be read by id.
  const byId = id.ok ? (fleet.machineById(id.value) ?? (await store.machine(id.value))) : null;
  const machine = byId ?? knownAs({ fleet }, reference);
  if (machine) return machine;
  throw new ColdironError('not_found', `no node has this id, host name or MAC address: ${shown(reference)}`);
}

/** For reads: a removed node still has its trail, and its boot screen shows its name and MAC address. */
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

/** A host name of twelve hex digits looks like a MAC address: the name takes precedence. */
export function knownAs({ fleet }: Pick<Edge, 'fleet'>, reference: string): Machine | null {
  const hostname = parseHostname(reference.toLowerCase());
  const mac = parseMac(reference);
  return (
    (hostname.ok ? fleet.machineByHostname(hostname.value) : null) ??
    (mac.ok ? fleet.machineByMac(mac.value) : null) ??
    null
  );
}
