// Time for the runner: the current time, and timers.

import type { Instant } from '../../domain/instant.ts';

export interface Timer {
  readonly cancel: () => void;
}

export interface Clock {
  now(): Instant;
  setTimer(delay: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (delay, run) => {
    const timeout = setTimeout(run, delay);
    return { cancel: () => clearTimeout(timeout) };
  },
};
