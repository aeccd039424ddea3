// The lifecycle of a machine: its state, which operators and work change, is separate from its health, which heartbeats change.

import type { Instant } from './instant.ts';
import type { IntentKind } from './intent.ts';
import { STATES } from './states.ts';

export type LifecycleState = keyof typeof STATES;
export const LIFECYCLE_STATES = Object.keys(STATES) as readonly LifecycleState[];

/** The steps that can fail; a machine in `failed` always has one. */
export const FAILED_STEPS = ['commission', 'deploy', 'enroll', 'drain', 'release'] as const;
export type FailedStep = (typeof FAILED_STEPS)[number];

export interface Lifecycle {
  readonly state: LifecycleState;
  readonly since: Instant;
  /** When the `deadline` event of the state is due; null for states without a time limit. */
  readonly deadline: Instant | null;
  /** The state to which `retired`, `rescue` and a cancelled release return. */
  readonly resume: LifecycleState | null;
  /** The state to which `resume` returns: a retired machine that is quarantined keeps the state it was retired from. */
  readonly thenResume?: LifecycleState;
  readonly failure: { readonly step: FailedStep; readonly reason: string } | null;
  /** Why it is quarantined, retired or removed: text for a person. */
  readonly note: string | null;
  /** Releasing without erasure has already been tried. */
  readonly fallbackUsed: boolean;
}

/** The lifecycle of a machine that enters this state without a history. */
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

/** The machine is in use, so it cannot be removed from the inventory. */
export const isInUse = (state: LifecycleState): boolean => !STATES[state].removableByInventory;

/** A session of the service OS does the work of this state. */
export const runsSession = (state: LifecycleState): boolean => STATES[state].session !== null;

/** The intent that the work of the state requires; null: the work destroys no data. */
export function intentNeeded(state: LifecycleState): IntentKind | null {
  const { boots } = STATES[state];
  return boots.into === 'armed-work' ? boots.intent : null;
}

/** The node must enroll now, or its enrollment failed and it may still enroll. */
export const awaitsEnrollment = ({ state, failure }: Lifecycle): boolean =>
  STATES[state].enrollment === 'awaited' || failedTo('enroll', { state, failure });

export const failedTo = (step: FailedStep, { state, failure }: Pick<Lifecycle, 'state' | 'failure'>): boolean =>
  state === 'failed' && failure?.step === step;
