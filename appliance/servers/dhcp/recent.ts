import type { Instant } from '../../domain/instant.ts';

const MAX_REMEMBERED = 4096;

/** Distinguishes the first occurrence from repeats, so that one noisy machine does not fill the log. */
export class Recent {
  readonly #window: number;
  readonly #last = new Map<string, Instant>();

  constructor(windowMs: number) {
    this.#window = windowMs;
  }

  /** Whether the key was not seen within the window; a repeat does not extend it. */
  isNew(key: string, now: Instant): boolean {
    const before = this.#last.get(key);
    if (before !== undefined && now - before < this.#window) return false;
    if (this.#last.size >= MAX_REMEMBERED) this.#last.clear();
    this.#last.set(key, now);
    return true;
  }
}
