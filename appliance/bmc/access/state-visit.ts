// Work that belongs to one visit of a machine to a state: it is aborted when the machine leaves the state.

import type { Machine } from '../../domain/machine.ts';

/** The reason of a signal that was aborted because the machine left the state. */
export class MovedOn extends Error {
  constructor(state: string) {
    super(`the machine is now ${state}`);
    this.name = 'MovedOn';
  }
}

export interface WatchedMachine {
  /** The current machine, or a slightly older version; null: it was removed, or is not known yet. */
  readonly current: () => Machine | null;
  /** Calls the listener after each change of the machine. Returns unsubscribe. */
  readonly onChange: (listener: () => void) => () => void;
}

/** The signal is valid until `end`. */
export function whileInState(
  machine: Machine,
  { current, onChange }: WatchedMachine,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const left = new AbortController();
  let caughtUp = false;
  const check = (): void => {
    const now = current();
    // A version older than the given machine says nothing about its current state.
    caughtUp ||= now !== null && now.version >= machine.version;
    if (!caughtUp || isSameVisit(now, machine)) return;
    end();
    left.abort(new MovedOn(now?.lifecycle.state ?? 'removed'));
  };
  const end = onChange(check);
  check();
  return { signal: left.signal, end };
}

const isSameVisit = (now: Machine | null, then: Machine): boolean =>
  now?.lifecycle.state === then.lifecycle.state && now.lifecycle.since === then.lifecycle.since;
