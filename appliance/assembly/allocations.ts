// SSH keys, key sets, sudo policies and allocations.

import { AccessKeys } from '../allocations/access-keys.ts';
import { Allocations } from '../allocations/allocations.ts';
import { sshKeyProbe } from '../allocations/key-probe.ts';
import { SudoPolicies } from '../allocations/sudo-policies.ts';
import { type EnrollmentService, SWEEP_EVERY } from '../identity/enrollment-service.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { repeat } from '../net/repeat.ts';
import type { Foundation } from './foundation.ts';

export function openAllocations(
  { store, fleet, clock, newId, logger, stops }: Foundation,
  commands: MachineCommands,
  { tasks }: Pick<EnrollmentService, 'tasks'>,
): { accessKeys: AccessKeys; sudoPolicies: SudoPolicies; allocations: Allocations } {
  const { now } = clock;
  const accessKeys = new AccessKeys({
    store,
    now,
    probe: sshKeyProbe(),
    siteExists: (site) => fleet.site(site) !== null,
  });
  const sudoPolicies = new SudoPolicies({ store, now });
  const allocations = new Allocations({
    ...{ store, tasks, commands, now, newId },
    keys: accessKeys,
    policies: sudoPolicies,
    machines: () => fleet.machines(),
  });
  stops.add(repeat(SWEEP_EVERY, () => allocations.reconcile(), logger));
  return { accessKeys, sudoPolicies, allocations };
}
