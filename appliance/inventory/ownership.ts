// Who owns an object, and what of it survives another declaration. Pure.
//
// A source owns what it declares. Another source that declares the same object takes it over, and the plan says so. Over the API
// nothing is taken from a file: the next apply of the file would undo it. What was learned about the hardware (UUID, serial number)
// stays until a declaration contradicts it; so does the BMC of a node that another source declares without one.

import type { Machine, MachineSpec } from '../domain/machine.ts';
import type { PlanRequest } from './plan.ts';

/** Sources that are no files. */
const API = 'api';
const NETWORK = 'network';

/** Why this source may not declare the object; null: it may. */
export function ownershipProblem(owner: string, source: string): string | null {
  if (source !== API || owner === API || owner === NETWORK) return null;
  return `is declared by ${owner}: change it there and apply that, or remove it from there first`;
}

/** What the operator should know when an object changes its source; null: nothing. */
export function takeover(owner: string, source: string, { sources }: PlanRequest): string | null {
  if (owner === source || owner === API || owner === NETWORK) return null;
  // An edit of both: the object has left the old source for good.
  if (sources.some(({ name }) => name === owner)) return null;
  return `is taken over from ${owner}; remove it there: whichever of the two is applied last owns it`;
}

/** The declared node with what the machine is known by, and a line for each field that the declaration leaves out. */
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
    ([field, value]) => `${field} stays ${typeof value === 'string' ? value : value.address}: nothing else is declared`,
  );
  return { spec: kept.length === 0 ? declared : { ...declared, ...known }, kept };
}
