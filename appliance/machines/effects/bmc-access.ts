// What effects need of BMCs.

import type { BmcEligibility } from '../../bmc/access/bmc-eligibility.ts';
import type { NetworkBootOutcome } from '../../bmc/access/network-boot.ts';
import type { Bmc } from '../../bmc/bmc.ts';
import type { RecordedAction } from '../../bmc/recorder.ts';
import type { BootReport } from '../../bmc/verified.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';

export interface BmcAccess {
  /** Whether the BMC may be touched, and if not, why not. */
  eligibility(machine: Machine): BmcEligibility;
  /** Opens, works and closes. Where the site only records, `record` hears what would have been done. */
  using<T>(machine: Machine, record: (action: RecordedAction) => void, work: (bmc: Bmc) => Promise<T>): Promise<T>;
  /** Whether the machine was seen to boot from the network, by this process or an earlier one. */
  bootedSince(machine: Machine, since: Instant): Promise<boolean>;
  /** Until the machine is seen to boot, or has moved on to another state. Every attempt is told while it is made. */
  bootFromNetwork(machine: Machine, tell: (report: BootReport) => Promise<void>): Promise<NetworkBootOutcome>;
}
