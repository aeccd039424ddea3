// Whether the BMC of a machine could start it now, asked before anything depends on it.

import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';

/** Empty: it answers, is only busy, or is not to be touched; one protocol that answers is enough. */
export async function bmcProblems(desk: Pick<BmcOpener, 'standing' | 'using'>, machine: Machine): Promise<string[]> {
  const standing = desk.standing(machine);
  if (standing.kind !== 'open' || standing.mode !== 'real') return [];
  const { endpoint } = standing;
  const problems: string[] = [];
  for (const protocol of protocolsOf(endpoint)) {
    try {
      await desk.using(
        machine,
        () => undefined,
        (bmc) => bmc.powerState(),
        protocol,
      );
      return [];
    } catch (error) {
      if (error instanceof BmcError && error.failure === 'busy') return [];
      const isOfBmc =
        error instanceof BmcError || (error instanceof ColdironError && error.code !== 'store_unavailable');
      if (!isOfBmc) throw error;
      problems.push(`its BMC at ${endpoint.address} cannot be asked (${protocol}): ${error.message}`);
    }
  }
  const { hostname } = machine.spec;
  return [
    ...problems,
    `nothing would switch it on: when its BMC answers (coldiron power ${hostname} status), ask again`,
  ];
}
