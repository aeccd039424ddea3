// The virtual drive of a machine's BMC. Only Redfish has one; a BMC with both protocols is asked over Redfish.

import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Bmc, ImageChoice } from '../bmc.ts';
import { BmcError, type BmcFailure } from '../bmc-error.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';

export type DriveResult =
  | { readonly outcome: 'done' }
  /** This BMC has no drive. */
  | { readonly outcome: 'unsupported'; readonly reason: string }
  /** `unchanged`: the drive holds what it held before. Otherwise nobody knows. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly unchanged: boolean };

/** After these the BMC may have executed the request. */
const IN_DOUBT: ReadonlySet<BmcFailure> = new Set(['vanished', 'malformed', 'contradiction', 'busy']);

export class VirtualDrives {
  readonly #opener: Pick<BmcOpener, 'using' | 'eligibility'>;
  readonly #settled: (machine: Machine) => Promise<void>;

  /** `settled`: await it before the use of a BMC. */
  constructor(opener: Pick<BmcOpener, 'using' | 'eligibility'>, settled: (machine: Machine) => Promise<void>) {
    this.#opener = opener;
    this.#settled = settled;
  }

  /** Why the machine has no drive that this appliance may use; null: it may have one. */
  problem(machine: Machine): string | null {
    const eligibility = this.#opener.eligibility(machine);
    if (eligibility.kind !== 'open') return eligibility.reason;
    if (eligibility.mode === 'recorder') return 'the site is in recorder mode';
    return protocolsOf(eligibility.endpoint).includes('redfish')
      ? null
      : 'IPMI has no virtual drives; declare driver redfish or ipmi+redfish for a BMC that has them';
  }

  insert(machine: Machine, image: string, replaces: ImageChoice): Promise<DriveResult> {
    return this.#run(machine, (bmc) => bmc.insertMedia(image, replaces));
  }

  eject(machine: Machine, which: ImageChoice): Promise<DriveResult> {
    return this.#run(machine, (bmc) => bmc.ejectMedia(which));
  }

  async #run(machine: Machine, work: (bmc: Bmc) => Promise<void>): Promise<DriveResult> {
    try {
      await this.#settled(machine);
      await this.#opener.using(machine, () => undefined, work, 'redfish');
      return { outcome: 'done' };
    } catch (error) {
      if (error instanceof BmcError && error.failure === 'unsupported')
        return { outcome: 'unsupported', reason: error.message };
      if (error instanceof BmcError)
        return { outcome: 'failed', reason: error.message, unchanged: !IN_DOUBT.has(error.failure) };
      if (!(error instanceof ColdironError) || error.code === 'store_unavailable') throw error;
      return { outcome: 'failed', reason: error.message, unchanged: true };
    }
  }
}
