// The one-time network boot of a machine that an operator switches on while it is being worked on. It rejects before the power changes:
// a BMC that does not take the override would start the old system from the disk.

import type { Machine } from '../../domain/machine.ts';
import type { Bmc } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';

export async function chooseNetworkOnce(bmc: Bmc, { spec }: Machine): Promise<void> {
  try {
    await bmc.setBoot({ device: 'network', persistent: false, firmware: null });
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    const why = 'so its power was not changed: it would have started from its disk while it is being worked on';
    const message = `${error.message}, ${why} (coldiron cancel ${spec.hostname} ends the work)`;
    throw new BmcError(error.failure, message, { retryable: error.retryable, cause: error });
  }
}
