// The machine's life: what we want of it (state) kept apart from what we hear of it (health).

import type { Instant } from './instant.ts';
import type { IntentKind } from './intent.ts';
import { STATES } from './states.ts';

export type LifecycleState = keyof typeof STATES;
export const LIFECYCLE_STATES = Object.keys(STATES) as readonly LifecycleState[];

/** The step that failed, so that "failed" always says where. */
export const FAILED_STEPS = ['commission', 'deploy', 'enroll', 'drain', 'release'] as const;
export type FailedStep = (typeof FAILED_STEPS)[number];

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

/** Somebody or something depends on the machine, so it cannot leave the inventory. */
export const isInUse = (state: LifecycleState): boolean => !STATES[state].removableByInventory;

/** The state is about work that a session does on the machine. */
export const runsSession = (state: LifecycleState): boolean => STATES[state].session !== null;

/** The intent that the work of the state needs; null: it destroys no data. */
export function intentNeeded(state: LifecycleState): IntentKind | null {
  const { boots } = STATES[state];
  return boots.into === 'armed-work' ? boots.intent : null;
}

/** The node must enroll now, or may still do so after it failed to. */
export const awaitsEnrollment = ({ state, failure }: Lifecycle): boolean =>
  STATES[state].enrollment === 'awaited' || failedTo('enroll', { state, failure });

export const failedTo = (step: FailedStep, { state, failure }: Pick<Lifecycle, 'state' | 'failure'>): boolean =>
  state === 'failed' && failure?.step === step;
