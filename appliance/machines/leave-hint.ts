// What to do when a node cannot be retired, removed or cancelled in its state. Derived from the transitions table, so that the
// advice never names a step that the table refuses.

import type { LifecycleState } from '../domain/lifecycle.ts';
import { type LifecycleEvent, TRANSITIONS } from './transitions.ts';

const mayHappen = (state: LifecycleState, event: LifecycleEvent): boolean =>
  TRANSITIONS.some((row) => row.from === state && row.event === event);

/** How an operator ends what a node is doing, least destructive first. */
const WAYS_OUT = [
  ['undrain', 'undrain'],
  ['cancel', 'cancel'],
  ['rescue-ended', 'end-rescue'],
] as const satisfies readonly (readonly [LifecycleEvent, string])[];

/** The verb that ends this state; null: nothing runs in it. */
export const verbThatEnds = (state: LifecycleState): string | null =>
  WAYS_OUT.find(([event]) => mayHappen(state, event))?.[1] ?? null;

export function leaveHint(event: 'retire' | 'remove', state: LifecycleState, hostname: string): string {
  if (state === 'removed') return 'It is already removed; there is nothing left to do.';
  if (state === 'retired') return `It is already retired; to delete it permanently: coldiron remove ${hostname}`;
  if (event === 'retire' && mayHappen(state, 'remove')) return `It can be removed now: coldiron remove ${hostname}`;
  const then = event === 'remove' ? 'retire it, then remove it' : 'retire it';
  if (mayHappen(state, 'retire')) return `Retire it first: coldiron retire ${hostname}; then remove it.`;
  const verb = verbThatEnds(state);
  return verb !== null
    ? `Wait until it is no longer ${state}, or end this state (coldiron ${verb} ${hostname}); then ${then}.`
    : `Wait until it is no longer ${state}; then ${then}.`;
}
