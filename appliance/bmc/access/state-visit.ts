// Work that belongs to one visit of a machine to a state: it is aborted when the machine leaves the state.

import { SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { BmcClock } from '../clock.ts';

const CHECK_EVERY = SECOND;

/** The reason of a signal that was aborted because the machine left the state. */
export class MovedOn extends Error {
  constructor(state: string) {
    super(`the machine is now ${state}`);
    this.name = 'MovedOn';
  }
}

/**
 * `current` is the current machine, or a slightly older version; null: it was removed, or is not known yet. The signal is valid
 * until `end`.
 */
export function whileInState(
  machine: Machine,
  current: () => Machine | null,
  clock: BmcClock,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const left = new AbortController();
  let caughtUp = false;
  let cancel = (): void => undefined;
  const check = (): void => {
    const now = current();
    // A version older than the given machine says nothing about its current state.
    caughtUp ||= now !== null && now.version >= machine.version;
    if (caughtUp && !isSameVisit(now, machine)) left.abort(new MovedOn(now?.lifecycle.state ?? 'removed'));
    else cancel = clock.wakeAt(clock.now() + CHECK_EVERY, check);
  };
  check();
  return { signal: left.signal, end: () => cancel() };
}

const isSameVisit = (now: Machine | null, then: Machine): boolean =>
  now?.lifecycle.state === then.lifecycle.state && now.lifecycle.since === then.lifecycle.since;
