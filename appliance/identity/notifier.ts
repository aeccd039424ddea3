// Whoever waits for news about something, and whoever brings them. News that nobody waits for are forgotten.

import type { Instant } from '../domain/instant.ts';

export interface Notifier<Key> {
  ring(key: Key): void;
  ringAll(): void;
  /** Resolves with the next ring, when time is over, or when the signal says that nobody waits any more. */
  hear(key: Key, patience: Instant, signal: AbortSignal): Promise<void>;
}

export type SetTimer = (delay: Instant, run: () => void) => { readonly cancel: () => void };

export function createBells<Key>(setTimer: SetTimer): Notifier<Key> {
  const waiting = new Map<Key, Set<() => void>>();
  const ring = (key: Key): void => {
    for (const wake of [...(waiting.get(key) ?? [])]) wake();
  };
  return {
    ring,
    ringAll: () => {
      for (const key of [...waiting.keys()]) ring(key);
    },
    hear: (key, patience, signal) =>
      new Promise((resolve) => {
        const waiters = waiting.get(key) ?? new Set();
        waiting.set(key, waiters);
        const end = (): void => {
          timer.cancel();
          signal.removeEventListener('abort', end);
          waiters.delete(end);
          if (waiters.size === 0 && waiting.get(key) === waiters) waiting.delete(key);
          resolve();
        };
        const timer = setTimer(patience, end);
        waiters.add(end);
        signal.addEventListener('abort', end);
        if (signal.aborted) end();
      }),
  };
}
