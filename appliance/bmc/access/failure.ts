// Maps failures of a BMC to the error codes of the API and the CLI.

import { ColdironError, type ErrorCode } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import { BmcError, type BmcFailure } from '../bmc-error.ts';

const CODES: Readonly<Record<BmcFailure, ErrorCode>> = {
  unreachable: 'bmc_unreachable',
  vanished: 'bmc_unreachable',
  authentication: 'bmc_login_failed',
  privilege: 'bmc_login_failed',
  busy: 'bmc_busy',
  untrusted: 'bmc_untrusted',
  unsupported: 'bmc_unsupported',
  refused: 'bmc_failed',
  malformed: 'bmc_failed',
  contradiction: 'bmc_failed',
  'locked-out': 'bmc_locked_out',
  closed: 'bmc_failed',
};

/** Any other error is returned unchanged. */
export function explained(error: unknown, machine: Machine): unknown {
  if (!(error instanceof BmcError)) return error;
  const explanation = new ColdironError(CODES[error.failure], `${machine.spec.hostname}: ${error.message}`);
  explanation.cause = error;
  return explanation;
}
