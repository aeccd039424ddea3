import type { Instant } from '../../domain/instant.ts';

const MOST_REMEMBERED = 4096;

/** Tells the first of many from its repeats, so that one noisy machine does not fill the log. */
export class Recent {
  readonly #window: number;
  readonly #last = new Map<string, Instant>();

  constructor(windowMs: number) {
    this.#window = windowMs;
  }

  /** Whether this was not seen within the window; a repeat does not lengthen it. */
  isNew(key: string, now: Instant): boolean {
    const before = this.#last.get(key);
    if (before !== undefined && now - before < this.#window) return false;
    if (this.#last.size >= MOST_REMEMBERED) this.#last.clear();
    this.#last.set(key, now);
    return true;
  }
}
