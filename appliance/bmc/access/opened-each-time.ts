// A BMC that is opened for each verb and closed after it, with the login that is valid at that time.

import { ColdironError, type ErrorCode } from '../../domain/errors.ts';
import type { Bmc } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { BootingBmc } from '../verified.ts';

type Using = <Result>(work: (bmc: Bmc) => Promise<Result>) => Promise<Result>;

export function openedEachTime(using: Using): BootingBmc {
  const run: Using = async (work) => {
    try {
      return await using(work);
    } catch (error) {
      throw asClosed(error);
    }
  };
  return {
    identity: () => run((bmc) => bmc.identity()),
    powerState: () => run((bmc) => bmc.powerState()),
    powerOn: () => run((bmc) => bmc.powerOn()),
    powerOff: () => run((bmc) => bmc.powerOff()),
    setBoot: (choice) => run((bmc) => bmc.setBoot(choice)),
  };
}

/** The opener refused: BMC access is disabled for its site meanwhile, or there is no login for it. */
const NOT_OPENED: ReadonlySet<ErrorCode> = new Set(['bmc_off_limits', 'bmc_login_failed', 'vault_unavailable']);

const asClosed = (error: unknown): unknown =>
  error instanceof ColdironError && NOT_OPENED.has(error.code) ? new BmcError('closed', error.message) : error;
