// A clock that advances by itself, and only while all work waits for it: hours take milliseconds, and no timer is missed.

import { setImmediate, setTimeout } from 'node:timers/promises';
import type { BmcClock } from '../../appliance/bmc/clock.ts';
import type { Instant } from '../../appliance/domain/instant.ts';

interface Wake {
  readonly at: Instant;
  readonly run: () => void;
}

const OUTSIDE_WITHIN_MS = 20_000;

export class VirtualClock implements BmcClock {
  #now: Instant;
  readonly #wakes = new Set<Wake>();
  /** Work that takes real time; the clock stops meanwhile. */
  readonly #work = new Set<Promise<unknown>>();

  constructor(now: Instant = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): Instant {
    return this.#now;
  }

  wakeAt(at: Instant, run: () => void): () => void {
    const wake = { at, run };
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  get pending(): number {
    return this.#wakes.size;
  }

  /** Advances until the promise settles. A promise that can never settle is a failure. */
  async until<Result>(promise: Promise<Result>): Promise<Result> {
    let settled = false;
    const over = promise.then(
      () => {
        settled = true;
      },
      () => {
        settled = true;
      },
    );
    for (;;) {
      // Twice: work that one turn of the event loop started ends in the next.
      await setImmediate();
      await setImmediate();
      if (settled) break;
      if (this.#work.size > 0) await Promise.allSettled(this.#work);
      else if (!this.#step()) await this.#outside(() => settled);
    }
    await over;
    return promise;
  }

  /** Advances by this duration. */
  async advance(duration: number): Promise<void> {
    const end = this.#now + duration;
    const arrived = new Promise<void>((resolve) => {
      this.wakeAt(end, resolve);
    });
    await this.until(arrived);
  }

  /** The same object; the clock stops while one of its promises is pending. */
  standsStillFor<Worker extends object>(worker: Worker): Worker {
    return new Proxy(worker, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, target, args);
          if (result instanceof Promise) this.#wait(result);
          return result;
        };
      },
    });
  }

  #wait(work: Promise<unknown>): void {
    this.#work.add(work);
    const over = () => void this.#work.delete(work);
    work.then(over, over);
  }

  /** No timer is due: the promise waits for an external reply, which may be late on a busy machine, or for nothing. */
  async #outside(isSettled: () => boolean): Promise<void> {
    const deadline = performance.now() + OUTSIDE_WITHIN_MS;
    while (!isSettled() && this.#wakes.size === 0 && this.#work.size === 0) {
      if (performance.now() > deadline) throw new Error('the promise is pending, and no timer is due');
      await setTimeout(10);
    }
  }

  #step(): boolean {
    const [next] = [...this.#wakes].sort((a, b) => a.at - b.at);
    if (!next) return false;
    this.#wakes.delete(next);
    this.#now = Math.max(this.#now, next.at);
    next.run();
    return true;
  }
}
