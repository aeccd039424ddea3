// A clock whose time passes by itself, and only while everybody waits for it: hours take milliseconds, and nothing is missed.

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
  /** What takes real time, and this one stands still meanwhile. */
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

  /** Lets time pass until this settles. A promise that nothing will ever settle is a failure. */
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
      // Twice: what one turn of the loop has set going, the next one finishes.
      await setImmediate();
      await setImmediate();
      if (settled) break;
      if (this.#work.size > 0) await Promise.allSettled(this.#work);
      else if (!this.#step()) await this.#outside(() => settled);
    }
    await over;
    return promise;
  }

  /** Lets so much time pass. */
  async advance(duration: number): Promise<void> {
    const end = this.#now + duration;
    const arrived = new Promise<void>((resolve) => {
      this.wakeAt(end, resolve);
    });
    await this.until(arrived);
  }

  /** The same object; time stands still while one of its promises is open. */
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

  /** Nothing is due: what everybody waits for is an answer from outside, which a busy machine may be late with, or nothing at all. */
  async #outside(isSettled: () => boolean): Promise<void> {
    const deadline = performance.now() + OUTSIDE_WITHIN_MS;
    while (!isSettled() && this.#wakes.size === 0 && this.#work.size === 0) {
      if (performance.now() > deadline) throw new Error('everybody waits, and nothing is due');
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
