// Group commit: leases that arrive while one commit runs share the next. The commit rate depends on the disk, not on the
// number of clients, and no client gets an ACK for a lease that is not on disk.

import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Lease } from '../../domain/lease.ts';
import type { Store } from '../../store/store.ts';

/**
 * A commit costs the same for one lease as for a hundred, and a fast disk would allow hundreds a second. A client does not
 * notice this delay, and the first lease after a pause is not delayed.
 */
const COMMIT_INTERVAL_MS = 5;
/**
 * Replies sent before the event loop reads new requests: a relay buffers some hundred replies, and a commit after a slow one
 * may hold more.
 */
const REPLIES_PER_TURN = 16;

interface PendingWrite {
  readonly lease: Lease;
  readonly done: (written: boolean) => void;
}

export class LeaseWriter {
  readonly #store: Pick<Store, 'commitLeases'>;
  readonly #onFailure: (error: unknown, leases: number) => void;
  #queue: PendingWrite[] = [];
  #running: Promise<void> | null = null;

  constructor(store: Pick<Store, 'commitLeases'>, onFailure: (error: unknown, leases: number) => void) {
    this.#store = store;
    this.#onFailure = onFailure;
  }

  /** `done(true)` when the lease is on disk, `done(false)` when the commit failed. */
  write(lease: Lease, done: (written: boolean) => void): void {
    this.#queue.push({ lease, done });
    this.#running ??= this.#run();
  }

  /** Resolves when no lease is waiting. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    // Datagrams are read in bursts: the rest of this one joins the first commit.
    await setImmediate();
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const due = setTimeout(COMMIT_INTERVAL_MS);
      const written = await this.#commit(batch);
      for (const [at, { done }] of batch.entries()) {
        if (at > 0 && at % REPLIES_PER_TURN === 0) await setImmediate();
        done(written);
      }
      if (this.#queue.length > 0) await due;
    }
    this.#running = null;
  }

  async #commit(batch: readonly PendingWrite[]): Promise<boolean> {
    try {
      await this.#store.commitLeases(batch.map(({ lease }) => lease));
      return true;
    } catch (error) {
      this.#onFailure(error, batch.length);
      return false;
    }
  }
}
