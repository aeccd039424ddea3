// Limits failed attempts per source address with a token bucket. 256-bit secrets cannot be guessed; this slows down a script
// that repeats a wrong one. Callers check the secret first, so that a valid one is never limited.

import { type Instant, SECOND } from '../domain/instant.ts';
import type { Clock } from './clock.ts';

const BURST = 10;
const REFILL_EVERY = 5 * SECOND;
/** Above this limit the least recently seen source is dropped, which bounds memory under an address scan. */
const MAX_SOURCES = 4096;

interface Bucket {
  readonly left: number;
  readonly at: Instant;
}

export class FailedAttempts {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0: may try at once. */
  secondsToWait(source: string): number {
    const left = this.#left(source);
    return left >= 1 ? 0 : Math.ceil(((1 - left) * REFILL_EVERY) / SECOND);
  }

  count(source: string): void {
    const left = Math.max(0, this.#left(source) - 1);
    // Deleting first moves the source to the end of the map's order.
    this.#buckets.delete(source);
    this.#buckets.set(source, { left, at: this.#clock.now() });
    if (this.#buckets.size <= MAX_SOURCES) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      break;
    }
  }

  get sources(): number {
    return this.#buckets.size;
  }

  #left(source: string): number {
    const bucket = this.#buckets.get(source);
    if (!bucket) return BURST;
    // A clock that was set back neither adds nor removes tokens.
    const waited = Math.max(0, this.#clock.now() - bucket.at);
    return Math.min(BURST, bucket.left + waited / REFILL_EVERY);
  }
}
