// Group commit: while one commit runs, all leases that come wait together for the next. The disk is asked as often as it
// can answer, however many clients there are, and nobody hears of a lease that is not on it.

import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Lease } from '../../domain/lease.ts';
import type { Store } from '../../store/store.ts';

/**
 * A commit costs the same whether it holds one lease or a hundred, and a fast disk would invite hundreds a second. A client
 * does not notice these milliseconds, and the first lease after a pause does not wait at all.
 */
const PACE_MS = 5;
/**
 * So many are answered in one turn, then whoever asked meanwhile has a turn: a relay has room for some hundred answers at
 * once, and a commit after a slow one may hold more.
 */
const ANSWERED_IN_A_TURN = 16;

interface Waiting {
  readonly lease: Lease;
  readonly done: (written: boolean) => void;
}

export class LeaseWriter {
  readonly #store: Pick<Store, 'commitLeases'>;
  readonly #onFailure: (error: unknown, leases: number) => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  constructor(store: Pick<Store, 'commitLeases'>, onFailure: (error: unknown, leases: number) => void) {
    this.#store = store;
    this.#onFailure = onFailure;
  }

  /** `done(true)` when it is on disk, `done(false)` when it could not be put there. */
  write(lease: Lease, done: (written: boolean) => void): void {
    this.#waiting.push({ lease, done });
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    // Datagrams are read in bursts: the rest of this one joins the first commit.
    await setImmediate();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const due = setTimeout(PACE_MS);
      const written = await this.#commit(batch);
      for (const [at, { done }] of batch.entries()) {
        if (at > 0 && at % ANSWERED_IN_A_TURN === 0) await setImmediate();
        done(written);
      }
      if (this.#waiting.length > 0) await due;
    }
    this.#running = null;
  }

  async #commit(batch: readonly Waiting[]): Promise<boolean> {
    try {
      await this.#store.commitLeases(batch.map(({ lease }) => lease));
      return true;
    } catch (error) {
      this.#onFailure(error, batch.length);
      return false;
    }
  }
}
