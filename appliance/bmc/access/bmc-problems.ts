// Checks whether the BMC of a machine could power it on now, before anything depends on it.

import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';

/** Empty: it replies, is only busy, or may not be used; one working protocol is enough. */
export async function bmcProblems(
  opener: Pick<BmcOpener, 'eligibility' | 'using'>,
  machine: Machine,
): Promise<string[]> {
  const eligibility = opener.eligibility(machine);
  if (eligibility.kind !== 'open' || eligibility.mode !== 'real') return [];
  const { endpoint } = eligibility;
  const problems: string[] = [];
  for (const protocol of protocolsOf(endpoint)) {
    try {
      await opener.using(
        machine,
        () => undefined,
        (bmc) => bmc.powerState(),
        protocol,
      );
      return [];
    } catch (error) {
      if (error instanceof BmcError && error.failure === 'busy') return [];
      const isBmcFailure =
        error instanceof BmcError || (error instanceof ColdironError && error.code !== 'store_unavailable');
      if (!isBmcFailure) throw error;
      problems.push(`its BMC at ${endpoint.address} cannot be used (${protocol}): ${error.message}`);
    }
  }
  const { hostname } = machine.spec;
  return [
    ...problems,
    `the machine could not be powered on: repair its BMC, check it with coldiron power ${hostname} status, then retry`,
  ];
}
