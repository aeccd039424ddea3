// The transitions of an allocation as one table. docs/allocations.md shows it.

import { ALLOCATION_STATES, type Allocation, type AllocationState } from '../domain/allocation.ts';
import type { Instant } from '../domain/instant.ts';

interface AllocationRow {
  readonly from: AllocationState;
  readonly event: string;
  readonly to: AllocationState;
}

/** A failed provisioning is released like any other: what was done on the node is undone. */
const TABLE = [
  { from: 'requested', event: 'provision', to: 'provisioning' },
  { from: 'requested', event: 'release', to: 'released' },
  { from: 'requested', event: 'deadline', to: 'released' },
  { from: 'provisioning', event: 'provisioned', to: 'active' },
  { from: 'provisioning', event: 'provision-failed', to: 'releasing' },
  { from: 'provisioning', event: 'release', to: 'releasing' },
  { from: 'provisioning', event: 'deadline', to: 'releasing' },
  { from: 'active', event: 'release', to: 'releasing' },
  { from: 'releasing', event: 'cleaned', to: 'released' },
  { from: 'releasing', event: 'clean-failed', to: 'release_failed' },
  { from: 'releasing', event: 'deadline', to: 'release_failed' },
  { from: 'release_failed', event: 'release', to: 'releasing' },
  { from: 'release_failed', event: 'clean-up', to: 'released' },
] as const satisfies readonly AllocationRow[];

export type AllocationEvent = (typeof TABLE)[number]['event'];
export const ALLOCATION_TRANSITIONS: readonly (AllocationRow & { readonly event: AllocationEvent })[] = TABLE;

/** Who causes the event, and what it means. */
export const ALLOCATION_EVENTS = {
  provision: { by: 'appliance', means: 'the node can be given tasks' },
  provisioned: { by: 'node', means: 'the account exists and has its keys' },
  'provision-failed': { by: 'node', means: 'the account could not be created' },
  release: { by: 'operator', means: 'end the allocation, or try to end it again' },
  cleaned: { by: 'node', means: 'the account and its files are removed' },
  'clean-failed': { by: 'node', means: 'the account could not be removed, or the node gets no tasks' },
  'clean-up': { by: 'operator', means: 'an admin vouches that nothing of the account is left' },
  deadline: { by: 'appliance', means: 'the state has lasted longer than its limit' },
} as const satisfies Readonly<Record<AllocationEvent, { by: 'operator' | 'node' | 'appliance'; means: string }>>;

/** Null: the event is not possible in this state. */
export function advanced(
  before: Allocation,
  event: AllocationEvent,
  reason: string | null,
  now: Instant,
): Allocation | null {
  const row = ALLOCATION_TRANSITIONS.find(({ from, event: on }) => from === before.state && on === event);
  if (!row) return null;
  const { limit } = ALLOCATION_STATES[row.to];
  const starts = row.to === 'provisioning' || row.to === 'releasing';
  return {
    ...before,
    state: row.to,
    since: now,
    deadline: limit === null ? null : now + limit,
    attempt: before.attempt + (starts ? 1 : 0),
    reason: reason ?? (row.to === 'active' || row.to === 'provisioning' ? null : before.reason),
  };
}
