// What effects need from BMCs.

import type { BmcEligibility } from '../../bmc/access/bmc-eligibility.ts';
import type { NetworkBootOutcome } from '../../bmc/access/network-boot.ts';
import type { Bmc } from '../../bmc/bmc.ts';
import type { RecordedAction } from '../../bmc/recorder.ts';
import type { BootReport } from '../../bmc/verified.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';

export interface BmcAccess {
  /** Whether the BMC may be used, and if not, why not. */
  eligibility(machine: Machine): BmcEligibility;
  /** Opens, works and closes. Where the site only records, `record` gets each action instead. */
  using<T>(machine: Machine, record: (action: RecordedAction) => void, work: (bmc: Bmc) => Promise<T>): Promise<T>;
  /** Whether the machine was seen to boot from the network, by this process or an earlier one. */
  bootedSince(machine: Machine, since: Instant): Promise<boolean>;
  /** Ends when the machine is seen to boot, or has left its state. `report` gets every attempt as it is made. */
  bootFromNetwork(machine: Machine, report: (attempt: BootReport) => Promise<void>): Promise<NetworkBootOutcome>;
}
