// Work that belongs to one stay of a machine in a state: it is broken off when the machine has moved on.

import { SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { BmcClock } from '../clock.ts';

const LOOK_EVERY = SECOND;

/** The reason of a signal that was aborted because the machine is elsewhere by now. */
export class MovedOn extends Error {
  constructor(state: string) {
    super(`the machine is ${state} by now`);
    this.name = 'MovedOn';
  }
}

/**
 * `current` is the machine as it is now, or was a moment ago; null: it was removed, or nobody has heard of it yet. The signal is
 * looked after until `end`.
 */
export function whileStaying(
  machine: Machine,
  current: () => Machine | null,
  clock: BmcClock,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const left = new AbortController();
  let caughtUp = false;
  let cancel = (): void => undefined;
  const look = (): void => {
    const now = current();
    // What is older than the machine we were given says nothing about where it is now.
    caughtUp ||= now !== null && now.version >= machine.version;
    if (caughtUp && !isSameStay(now, machine)) left.abort(new MovedOn(now?.lifecycle.state ?? 'removed'));
    else cancel = clock.wakeAt(clock.now() + LOOK_EVERY, look);
  };
  look();
  return { signal: left.signal, end: () => cancel() };
}

const isSameStay = (now: Machine | null, then: Machine): boolean =>
  now?.lifecycle.state === then.lifecycle.state && now.lifecycle.since === then.lifecycle.since;
