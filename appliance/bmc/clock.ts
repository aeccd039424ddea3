// The clock of the drivers and their callers: the current time, and timers.

import type { Instant } from '../domain/instant.ts';

export interface BmcClock {
  now(): Instant;
  /** Returns a function that cancels the timer. */
  wakeAt(at: Instant, run: () => void): () => void;
}

export const bmcSystemClock: BmcClock = {
  now: () => Date.now(),
  wakeAt: (at, run) => {
    const timeout = setTimeout(run, Math.max(0, at - Date.now()));
    return () => clearTimeout(timeout);
  },
};

export const pause = (clock: BmcClock, duration: number): Promise<void> =>
  new Promise((resolve) => {
    clock.wakeAt(clock.now() + duration, resolve);
  });
