// The machine's life: what we want of it (state) kept apart from what we hear of it (health).

import type { Instant } from './instant.ts';

export const LIFECYCLE_STATES = [
  'discovered',
  'registered',
  'commissioning',
  'ready',
  'deploying',
  'enrolling',
  'active',
  'draining',
  'releasing',
  'rescue',
  'retired',
  'failed',
  'quarantined',
  'removed',
] as const;
export type LifecycleState = (typeof LIFECYCLE_STATES)[number];

/** The step that failed, so that "failed" always says where. */
export type FailedStep = 'commission' | 'deploy' | 'enroll' | 'drain' | 'release';

export interface Lifecycle {
  readonly state: LifecycleState;
  readonly since: Instant;
  /** When the table's deadline event is due; null for states that may last. */
  readonly deadline: Instant | null;
  /** Where `retired`, `rescue` and a cancelled release return to. */
  readonly resume: LifecycleState | null;
  /** Where the state in `resume` returns to: a retired machine that is quarantined keeps what it was retired from. */
  readonly thenResume?: LifecycleState;
  readonly failure: { readonly step: FailedStep; readonly reason: string } | null;
  /** Why it is quarantined, retired or refused: words for a person. */
  readonly note: string | null;
  /** Releasing without erasure has been tried already. */
  readonly fallbackUsed: boolean;
}

/** The life of a machine that enters this state with nothing behind it. */
export const lifeIn = (state: LifecycleState, since: Instant): Lifecycle => ({
  state,
  since,
  deadline: null,
  resume: null,
  failure: null,
  note: null,
  fallbackUsed: false,
});

export type Health = 'unknown' | 'online' | 'silent';

/** States in which somebody or something depends on the machine: it cannot simply leave the inventory. */
const IN_USE: ReadonlySet<LifecycleState> = new Set([
  'commissioning',
  'deploying',
  'enrolling',
  'active',
  'draining',
  'releasing',
  'rescue',
  'failed',
  'quarantined',
]);

export const isInUse = (state: LifecycleState): boolean => IN_USE.has(state);
