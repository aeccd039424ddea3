// Boot choices that would last, and that nobody took back: the process that set them was gone before it could. The trail has each
// of them before the BMC hears of it.

import { type Json, newEvent, type StoredEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { driverOf } from '../boot-methods.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';
import { takenBack } from './network-boot.ts';
import { openedEachTime } from './opened-each-time.ts';

export interface LastingChoicesSettings {
  readonly desk: Pick<BmcOpener, 'using' | 'standing'>;
  readonly store: Pick<Store, 'events' | 'appendEvents'>;
  readonly now: () => Instant;
  readonly current: (machine: MachineId) => Machine | null;
}

/** Machines are few at any time that need such a choice at all; what is older has long been taken back. */
const LOOK_BACK = 1000;
/** Of one machine: far more than one boot leaves behind. */
const LOOK_BACK_ONE = 200;

export class PersistentBootOverrides {
  readonly #settings: LastingChoicesSettings;
  readonly #underWay = new Map<MachineId, Promise<void>>();

  constructor(settings: LastingChoicesSettings) {
    this.#settings = settings;
  }

  /** Finds them, and settles when those that are found are being taken back; `over` settles with the last one. */
  async takeBack(): Promise<{ readonly over: Promise<void> }> {
    const { store, current } = this.#settings;
    const set = await store.events({ kind: 'bmc.boot-lasting', limit: LOOK_BACK, newest: true });
    for (const id of new Set(set.flatMap(({ machine }) => machine ?? []))) {
      const machine = current(id);
      const method = lastingChoice(
        await store.events({ machine: id, kind: 'bmc', limit: LOOK_BACK_ONE, newest: true }),
      );
      if (machine && method !== null) this.#begin(machine, method);
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
    await store.appendEvents([newEvent(frame, `bmc.boot-${kind}`, data)]);
  }
}

/** The method of the one that holds; null: none does. The oldest event first. What a person has set since stays. */
export function lastingChoice(events: readonly Pick<StoredEvent, 'kind' | 'data'>[]): string | null {
  const last = events.findLast((event) => event.kind === 'bmc.boot-lasting' || endsLasting(event));
  return last?.kind === 'bmc.boot-lasting' ? (textIn(last.data, 'method') ?? 'unknown') : null;
}

const endsLasting = ({ kind, data }: Pick<StoredEvent, 'kind' | 'data'>): boolean =>
  kind === 'bmc.boot-undone' || (kind === 'bmc.done' && textIn(data, 'what') === 'bootdev');

function textIn(data: Json, key: string): string | null {
  const value =
    typeof data === 'object' && data !== null ? Object.entries(data).find(([name]) => name === key)?.[1] : null;
  return typeof value === 'string' ? value : null;
}
