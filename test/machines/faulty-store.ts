// A store that fails in every way its contract allows, and the random numbers that decide when.

import { ColdironError } from '../../appliance/domain/errors.ts';
import type { MachineId } from '../../appliance/domain/machine.ts';
import type { Change, Committed } from '../../appliance/store/change.ts';
import type { Store } from '../../appliance/store/store.ts';

export type ModelStore = Pick<
  Store,
  | 'machine'
  | 'commit'
  | 'command'
  | 'appendEvents'
  | 'subscribe'
  | 'takeEffects'
  | 'reclaimEffects'
  | 'effects'
  | 'sessionsOf'
>;

export interface Subject {
  readonly store: ModelStore;
  readonly machine: MachineId;
  /** Everything that a commit could change, as text. */
  fingerprint(): Promise<string> | string;
  /** Machines with a valid identity; null: not tracked here. */
  readonly trusted: Set<MachineId> | null;
}

export type Random = (below: number) => number;

/** Deterministic: the same seed gives the same lifecycles. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** The process ended: nobody receives the result. */
export class Died extends Error {}

const unavailable = () => new ColdironError('store_unavailable', 'made up by the test');
const unknown = () => new ColdironError('outcome_unknown', 'made up by the test');
const POISON = { kind: 'finish-effect', effect: 'nobody' as never } as const;

/** Fails one call in `oneIn`; 0: never. */
export class FaultyStore implements ModelStore {
  readonly #real: ModelStore;
  readonly #subject: Subject;
  readonly #random: Random;
  oneIn: number;

  constructor(subject: Subject, random: Random, oneIn: number) {
    this.#real = subject.store;
    this.#subject = subject;
    this.#random = random;
    this.oneIn = oneIn;
  }

  async commit(change: Change): Promise<Committed> {
    if (this.oneIn === 0 || this.#random(this.oneIn) > 0) {
      return this.#real.commit(change);
    }
    const before = await this.#subject.fingerprint();
    switch (this.#random(5)) {
      case 0:
        throw unavailable();
      case 1:
        throw unknown();
      case 2:
        await this.#real.commit(change);
        throw unknown();
      case 3:
        // The process dies after the commit and before the caller gets the result.
        await this.#real.commit(change);
        throw new Died();
      default: {
        // The engine fails between two writes: the earlier ones must be rolled back.
        const writes = [...change.writes];
        writes.splice(this.#random(writes.length + 1), 0, POISON);
        const committed = await this.#real.commit({ ...change, writes });
        if (committed.outcome === 'committed') throw new Error('a poisoned change was committed');
        if (committed.outcome === 'refused' && (await this.#subject.fingerprint()) !== before) {
          throw new Error(`a refused change left something behind: ${before} / ${await this.#subject.fingerprint()}`);
        }
        throw this.#random(2) === 0 ? new Died() : unavailable();
      }
    }
  }

  #mayFail<T>(call: () => Promise<T>): Promise<T> {
    if (this.oneIn > 0 && this.#random(this.oneIn) === 0) return Promise.reject(unavailable());
    return call();
  }

  machine = (id: MachineId) => this.#mayFail(() => this.#real.machine(id));
  command: ModelStore['command'] = (id) => this.#mayFail(() => this.#real.command(id));
  appendEvents: ModelStore['appendEvents'] = (events) => this.#mayFail(() => this.#real.appendEvents(events));
  takeEffects: ModelStore['takeEffects'] = (now, limit) => this.#mayFail(() => this.#real.takeEffects(now, limit));
  subscribe: ModelStore['subscribe'] = (subscriber) => this.#real.subscribe(subscriber);
  reclaimEffects = () => this.#real.reclaimEffects();
  effects: ModelStore['effects'] = (machine) => this.#real.effects(machine);
  sessionsOf: ModelStore['sessionsOf'] = (machine, limit) => this.#mayFail(() => this.#real.sessionsOf(machine, limit));
}
