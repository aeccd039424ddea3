// What `deploy` would reject, or leave unusable, in a node as declared: the guards that need no running appliance.

import type { Machine } from '../domain/machine.ts';
import type { PlanIndex } from '../render/plan-index.ts';
import { planNode } from '../render/plan-node.ts';
import { noEnrollment } from './guards.ts';
import { installProblems } from './orders/order.ts';
import { type FindAsset, imageProblem } from './orders/served-image.ts';

/** `find` null: there is no library. Another check reports why a node cannot be rendered at all. */
export function deployOutlook(index: PlanIndex, machine: Machine, find: FindAsset | null): OutlookFinding[] {
  const planned = planNode(index, machine);
  if (!planned.ok) return [];
  const { plan } = planned;
  const { image } = plan.profile;
  const absent = image !== null && find !== null ? imageProblem(image, find) : null;
  return [
    ...installProblems(plan).map((problem) => ({ field: 'profile', problem })),
    ...(plan.enrollment === null ? [{ field: 'profile', problem: noEnrollment(plan.profile.name) }] : []),
    ...(absent === null ? [] : [{ field: 'profile', problem: absent }]),
    ...(plan.nameservers.length > 0
      ? []
      : [
          {
            field: 'interfaces',
            problem: 'none of its networks names a DNS server (dns:), so it cannot resolve names',
          },
        ]),
    ...(plan.accounts.length > 0
      ? []
      : [
          {
            field: 'accounts',
            problem: 'neither it, its profile nor its site has accounts, so nobody can log in',
          },
        ]),
  ];
}

export interface OutlookFinding {
  /** A field of the node. */
  readonly field: string;
  readonly problem: string;
}
