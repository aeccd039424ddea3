// Ownership of objects by sources, and what is kept when another source declares an object. Pure.
//
// A source owns the objects that it declares. Another source that declares the same object takes it over, and the plan says so. The
// API cannot take an object from a file: the next apply of the file would undo it. Discovered hardware data (UUID, serial number)
// is kept until a declaration contradicts it; so is the BMC of a node that another source declares without one.

import type { Machine, MachineSpec } from '../domain/machine.ts';
import type { PlanRequest } from './plan.ts';

/** Sources that are not files. */
export const API = 'api';
export const NETWORK = 'network';
/** The source of the inventory sections of coldiron.yaml. */
const SITE = 'site';

/** Why this source may not declare the object; null: it may. */
export function ownershipProblem(owner: string, source: string): string | null {
  if (source !== API || owner === API || owner === NETWORK) return null;
  const file = owner === SITE ? 'coldiron.yaml' : `the inventory file ${owner}`;
  return `is declared by ${file}: change it there and apply that, or remove it there first`;
}

/** A note for the operator when an object changes its source; null: none. */
export function takeover(owner: string, source: string, { sources }: PlanRequest): string | null {
  if (owner === source || owner === API || owner === NETWORK) return null;
  // Both sources are applied: the old source no longer declares the object.
  if (sources.some(({ name }) => name === owner)) return null;
  return `is taken over from ${owner}; remove it from ${owner}: the source that is applied last owns it`;
}

/** The declared node with the known hardware data of the machine, and a line for each field that is kept. */
export function withKnownHardware(
  declared: MachineSpec,
  machine: Machine,
  source: string,
  { mode }: PlanRequest,
): { readonly spec: MachineSpec; readonly kept: readonly string[] } {
  const { uuid, serial, bmc } = machine.spec;
  // A file that declared the BMC and no longer does removes it.
  const keepsBmc = mode === 'additive' || machine.source !== source;
  const known = {
    ...(declared.uuid === null && uuid !== null && { uuid }),
    ...(declared.serial === null && serial !== null && { serial }),
    ...(declared.bmc === null && bmc !== null && keepsBmc && { bmc }),
  };
  const kept = Object.entries(known).map(
    ([field, value]) =>
      `${field} remains ${typeof value === 'string' ? value : value.address}: the declaration has none`,
  );
  return { spec: kept.length === 0 ? declared : { ...declared, ...known }, kept };
}
