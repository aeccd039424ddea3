// Boot overrides that last for every start and that the appliance did not undo, because it stopped in the middle of a boot. Each is
// in the store before the BMC receives it.

import { newEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { driverOf } from '../boot-methods.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';
import { takenBack } from './network-boot.ts';
import { openedEachTime } from './opened-each-time.ts';

export interface LastingChoicesSettings {
  readonly desk: Pick<BmcOpener, 'using' | 'standing'>;
  readonly store: Pick<Store, 'persistentBootOverrides' | 'deletePersistentBootOverride' | 'appendEvents'>;
  readonly now: () => Instant;
  readonly current: (machine: MachineId) => Machine | null;
}

export class PersistentBootOverrides {
  readonly #settings: LastingChoicesSettings;
  readonly #underWay = new Map<MachineId, Promise<void>>();

  constructor(settings: LastingChoicesSettings) {
    this.#settings = settings;
  }

  /** Starts to undo each of them; `over` settles with the last one. */
  async takeBack(): Promise<{ readonly over: Promise<void> }> {
    const { store, current } = this.#settings;
    for (const { machine: id, method } of await store.persistentBootOverrides()) {
      const machine = current(id);
      if (machine) this.#begin(machine, method);
    }
    return { over: Promise.all(this.#underWay.values()).then(() => undefined) };
  }

  /** Nothing is told to the machine's BMC before, or it would be taken back as well. Never rejects. */
  async settled(machine: Machine): Promise<void> {
    await this.#underWay.get(machine.id)?.catch(() => undefined);
  }

  #begin(machine: Machine, method: string): void {
    const work = this.#takeBackFrom(machine, method);
    // It is heard of through `over`, once all of them are under way.
    work.catch(() => undefined);
    this.#underWay.set(machine.id, work);
  }

  async #takeBackFrom(machine: Machine, set: string): Promise<void> {
    const { desk, store, now } = this.#settings;
    const standing = desk.standing(machine);
    if (standing.kind !== 'open' || standing.mode !== 'real') return;
    const protocol = protocolsOf(standing.endpoint).find((spoken) => spoken === driverOf(set));
    const bmc = openedEachTime((work) => desk.using(machine, () => undefined, work, protocol));
    const { kind, words } = await takenBack(bmc);
    const data = { method: set, words: `the appliance stopped in the middle of a boot; ${words}` };
    const frame = { at: now(), actor: 'appliance', machine: machine.id, correlationId: null };
    if (kind === 'undone') await store.deletePersistentBootOverride(machine.id);
    await store.appendEvents([newEvent(frame, `bmc.boot-${kind}`, data)]);
  }
}
