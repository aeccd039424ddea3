// Whether the disks that a deployment means are in the machine, by what it was found to consist of. Asked before anything is armed: the
// machine itself asks again, and then it stands there, booted for nothing.

import type { DiskSelector } from '../domain/system.ts';
import { chooseDisks, matchDisks, pathsWithoutInspection } from '../render/nixos/choose-disks.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';
import type { NodePlan } from '../render/node-plan.ts';

/** `selectors`: as the order will have them. `inspection`: null when nobody has looked into the machine. */
export function diskProblems(
  { profile }: Pick<NodePlan, 'profile'>,
  selectors: readonly DiskSelector[],
  inspection: Inspection | null,
): string[] {
  const wanted = { disks: selectors };
  if (inspection === null) {
    if (pathsWithoutInspection(wanted).ok) return [];
    return ['nobody knows yet which disks it has, and its storage names none by its id: commission it first'];
  }
  // An image is written by the service OS, which needs no name that outlives a boot.
  const chosen =
    profile.kind === 'nixos' ? chooseDisks(wanted, inspection.disks) : matchDisks(wanted, inspection.disks);
  return chosen.ok ? [] : [chosen.reason];
}
