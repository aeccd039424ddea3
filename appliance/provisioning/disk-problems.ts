// Whether the disks of a deployment are in the machine, according to its inspection. Checked before anything is armed: the
// machine checks again, but by then it has booted for nothing.

import type { DiskSelector } from '../domain/system.ts';
import { chooseDisks, matchDisks, pathsWithoutInspection } from '../render/nixos/choose-disks.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';
import type { NodePlan } from '../render/node-plan.ts';

/** `selectors`: as in the order. `inspection`: null when the machine was never inspected. */
export function diskProblems(
  { profile }: Pick<NodePlan, 'profile'>,
  selectors: readonly DiskSelector[],
  inspection: Inspection | null,
): string[] {
  const plan = { disks: selectors };
  if (inspection === null) {
    if (pathsWithoutInspection(plan).ok) return [];
    return ['its disks are not known yet, and its storage names none by id: commission it first'];
  }
  // The service OS writes an image, and needs no device name that is stable across boots.
  const chosen = profile.kind === 'nixos' ? chooseDisks(plan, inspection.disks) : matchDisks(plan, inspection.disks);
  return chosen.ok ? [] : [chosen.reason];
}
