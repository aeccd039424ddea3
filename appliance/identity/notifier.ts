// Wakes waiters by key. A notification without waiters is dropped.

import type { Instant } from '../domain/instant.ts';

export interface Notifier<Key> {
  notify(key: Key): void;
  notifyAll(): void;
  /** Resolves at the next notification, after the timeout, or when the signal aborts. */
  wait(key: Key, timeout: Instant, signal: AbortSignal): Promise<void>;
}

export type SetTimer = (delay: Instant, run: () => void) => { readonly cancel: () => void };

export function createNotifier<Key>(setTimer: SetTimer): Notifier<Key> {
  const waiting = new Map<Key, Set<() => void>>();
  const notify = (key: Key): void => {
    for (const wake of [...(waiting.get(key) ?? [])]) wake();
  };
  return {
    notify,
    notifyAll: () => {
      for (const key of [...waiting.keys()]) notify(key);
    },
    wait: (key, timeout, signal) =>
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
        const timer = setTimer(timeout, end);
        waiters.add(end);
        signal.addEventListener('abort', end);
        if (signal.aborted) end();
      }),
  };
}
