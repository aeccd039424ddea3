// Persistent boot overrides that the appliance did not remove, because it stopped in the middle of a boot. Each is in the store
// before the BMC receives it.

import { newEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { driverOf } from '../boot-methods.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';
import { removeOverride } from './network-boot.ts';
import { openedEachTime } from './opened-each-time.ts';

export interface PersistentBootOverridesDeps {
  readonly opener: Pick<BmcOpener, 'using' | 'eligibility'>;
  readonly store: Pick<Store, 'persistentBootOverrides' | 'deletePersistentBootOverride' | 'appendEvents'>;
  readonly now: () => Instant;
  readonly current: (machine: MachineId) => Machine | null;
}

export class PersistentBootOverrides {
  readonly #deps: PersistentBootOverridesDeps;
  readonly #inProgress = new Map<MachineId, Promise<void>>();

  constructor(deps: PersistentBootOverridesDeps) {
    this.#deps = deps;
  }

  /** Starts to remove each of them; `finished` settles with the last one. */
  async removeAll(): Promise<{ readonly finished: Promise<void> }> {
    const { store, current } = this.#deps;
    for (const { machine: id, method } of await store.persistentBootOverrides()) {
      const machine = current(id);
      if (machine) this.#start(machine, method);
    }
    return { finished: Promise.all(this.#inProgress.values()).then(() => undefined) };
  }

  /** Await it before any other use of the machine's BMC, whose settings would be removed as well. Never rejects. */
  async settled(machine: Machine): Promise<void> {
    await this.#inProgress.get(machine.id)?.catch(() => undefined);
  }

  #start(machine: Machine, method: string): void {
    const work = this.#removeFrom(machine, method);
    // `finished` reports it, once all of them are in progress.
    work.catch(() => undefined);
    this.#inProgress.set(machine.id, work);
  }

  async #removeFrom(machine: Machine, method: string): Promise<void> {
    const { opener, store, now } = this.#deps;
    const eligibility = opener.eligibility(machine);
    if (eligibility.kind !== 'open' || eligibility.mode !== 'real') return;
    const protocol = protocolsOf(eligibility.endpoint).find((spoken) => spoken === driverOf(method));
    const bmc = openedEachTime((work) => opener.using(machine, () => undefined, work, protocol));
    const { kind, words } = await removeOverride(bmc);
    const data = { method, words: `the appliance stopped in the middle of a boot; ${words}` };
    const frame = { at: now(), actor: 'appliance', machine: machine.id, correlationId: null };
    if (kind === 'undone') await store.deletePersistentBootOverride(machine.id);
    await store.appendEvents([newEvent(frame, `bmc.boot-${kind}`, data)]);
  }
}
