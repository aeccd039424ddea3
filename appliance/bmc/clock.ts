// Time as drivers and those around them need it: what it is now, and being woken later.

import type { Instant } from '../domain/instant.ts';

export interface BmcClock {
  now(): Instant;
  /** Returns how to call it off. */
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
