// A clock that moves only when a test advances it.

import type { Instant } from '../../appliance/domain/instant.ts';
import type { Clock, Timer } from '../../appliance/machines/runner/clock.ts';

export class FakeClock implements Clock {
  #now: Instant;
  readonly #timers = new Set<{ readonly at: Instant; readonly run: () => void }>();

  constructor(now: Instant) {
    this.#now = now;
  }

  now(): Instant {
    return this.#now;
  }

  setTimer(delay: number, run: () => void): Timer {
    const timer = { at: this.#now + delay, run };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Fires due timers one at a time, and awaits `rest` after each. */
  async advance(duration: number, rest: () => Promise<void>): Promise<void> {
    await rest();
    const end = this.#now + duration;
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.run();
      await rest();
    }
    this.#now = end;
  }
}
