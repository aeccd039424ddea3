// BMCs for effects: recorded, or with a machine in memory behind them.

import { bmcEligibility } from '../../appliance/bmc/access/bmc-eligibility.ts';
import type { Bmc } from '../../appliance/bmc/bmc.ts';
import { recorderBmc } from '../../appliance/bmc/recorder.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { BmcMode } from '../../appliance/domain/network.ts';
import type { BmcAccess } from '../../appliance/machines/effects/bmc-access.ts';

export const bmcAccess = (mode: BmcMode | null, real: Partial<BmcAccess> & { readonly bmc?: Bmc } = {}): BmcAccess => ({
  eligibility: (machine: Machine) => bmcEligibility(machine, mode),
  using: (_machine, record, work) => work(real.bmc ?? recorderBmc(record)),
  bootedSince: async () => false,
  bootFromNetwork: () => Promise.reject(new Error('unexpected network boot')),
  ...real,
});
