// One step of the lifecycle: (current state, event, now) → next state and its effects.

import type { EffectKind } from '../domain/effect.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import type { Lifecycle, LifecycleState } from '../domain/lifecycle.ts';
import { DEPLOY_MINUTES_WITHOUT_PROFILE, STATES } from '../domain/states.ts';
import {
  type Condition,
  EVENTS,
  type LifecycleEvent,
  RESUME_UNKNOWN,
  resumeTargets,
  TRANSITIONS,
  type TransitionRow,
} from './transitions.ts';

export interface StepContext {
  readonly now: Instant;
  /** Null: there is no profile. */
  readonly profileDeployMinutes: number | null;
  /** The time limit of the next state, where it is not that of the table: another system installs it meanwhile. */
  readonly minutes?: number | undefined;
  /** Why it is retired, quarantined and so on: text for a person. */
  readonly note?: string | undefined;
  /** Why a step failed, as reported. */
  readonly failureReason?: string | undefined;
  /** How far it had come at its deadline. */
  readonly lastHeard?: string | undefined;
}

export type StepResult =
  | {
      readonly moved: true;
      readonly lifecycle: Lifecycle;
      readonly effects: readonly EffectKind[];
      readonly revokesIdentity: boolean;
    }
  | { readonly moved: false; readonly reason: string };

export function step(lifecycle: Lifecycle, event: LifecycleEvent, context: StepContext): StepResult {
  const row = TRANSITIONS.find((each) => each.event === event && fits(each, lifecycle));
  if (!row) return { moved: false, reason: refusal(lifecycle, event) };
  const state = row.to === 'resume' ? (lifecycle.resume ?? RESUME_UNKNOWN) : row.to;
  const memory = memoryAfter(row, lifecycle);
  return {
    moved: true,
    effects: row.effects,
    revokesIdentity: row.revokesIdentity === true,
    lifecycle: {
      state,
      since: state === lifecycle.state ? lifecycle.since : context.now,
      deadline: deadlineOf(state, context),
      ...memory,
      failure: failureAfter(row, state, memory, lifecycle, context),
      note: context.note ?? noteAfter(row, state, lifecycle, context),
      // The rows whose condition is the fallback also use it up.
      fallbackUsed: row.if === 'fallback-left',
    },
  };
}

/** Every event that would move the machine now, in table order. */
export const possibleEvents = (lifecycle: Lifecycle): LifecycleEvent[] => [
  ...new Set(TRANSITIONS.filter((row) => fits(row, lifecycle)).map((row) => row.event)),
];

/**
 * An effect that was delayed (queued, or the BMC did not answer) may find the machine in a state that it does not
 * apply to: a machine is never power cycled because of an earlier state.
 */
export function effectStillApplies(kind: EffectKind, lifecycle: Lifecycle): boolean {
  if (kind === 'release-without-erase') return lifecycle.state === 'releasing' && lifecycle.fallbackUsed;
  return TRANSITIONS.some((row) => row.effects.includes(kind) && targets(row).has(lifecycle.state));
}

type Memory = Pick<Lifecycle, 'resume' | 'thenResume'>;

/** A state that is left temporarily is remembered, together with what it remembered. */
function memoryAfter(row: TransitionRow, lifecycle: Lifecycle): Memory {
  const { resume, thenResume } = lifecycle;
  if (row.to === 'resume') return { resume: thenResume ?? null };
  if (row.remember === 'resume') return { resume, ...(thenResume && { thenResume }) };
  return { resume: row.remember ?? null, ...(row.remember === row.from && resume && { thenResume: resume }) };
}

const targets = (row: TransitionRow): Set<LifecycleState> =>
  row.to === 'resume' ? resumeTargets(row.from) : new Set([row.to]);

const CONDITION_HOLDS: Readonly<Record<Condition, (lifecycle: Lifecycle) => boolean>> = {
  'fallback-left': (lifecycle) => !lifecycle.fallbackUsed,
  'fallback-used': (lifecycle) => lifecycle.fallbackUsed,
  'failed-after-commissioning': (lifecycle) => lifecycle.failure?.step !== 'commission',
  'failed-to-enroll': (lifecycle) => lifecycle.failure?.step === 'enroll',
  'failed-to-drain': (lifecycle) => lifecycle.failure?.step === 'drain',
  'failed-to-install': ({ failure }) => failure?.step === 'deploy' || failure?.step === 'enroll',
  'retired-from-service': ({ resume }) =>
    TRANSITIONS.some((row) => row.from === resume && row.event === 'release' && row.if === undefined),
};

const fits = (row: TransitionRow, lifecycle: Lifecycle): boolean =>
  row.from === lifecycle.state && (row.if === undefined || CONDITION_HOLDS[row.if](lifecycle));

function deadlineOf(state: LifecycleState, context: StepContext): Instant | null {
  const { deadline } = STATES[state];
  if (deadline === null) return null;
  const usual = deadline === 'profile' ? (context.profileDeployMinutes ?? DEPLOY_MINUTES_WITHOUT_PROFILE) : deadline;
  return context.now + (context.minutes ?? usual) * MINUTE;
}

function noteAfter(
  row: TransitionRow,
  state: LifecycleState,
  lifecycle: Lifecycle,
  context: StepContext,
): string | null {
  if (row.if === 'fallback-left') return context.failureReason ?? reasonFor(row, lifecycle, context);
  return STATES[state].keepsNote ? lifecycle.note : null;
}

/** A failure is cleared when the machine moves on, not when it is only interrupted and may return to it. */
function failureAfter(
  row: TransitionRow,
  state: LifecycleState,
  { resume, thenResume }: Memory,
  lifecycle: Lifecycle,
  context: StepContext,
): Lifecycle['failure'] {
  if (row.fails && (row.to !== 'resume' || state === 'failed')) {
    return { step: row.fails, reason: context.failureReason ?? reasonFor(row, lifecycle, context) };
  }
  const isSetAside = (resume === 'failed' || thenResume === 'failed') && !STATES[state].clearsFailure;
  return state === 'failed' || isSetAside ? lifecycle.failure : null;
}

function reasonFor(row: TransitionRow, lifecycle: Lifecycle, context: StepContext): string {
  if (row.event === 'deadline') {
    const minutes = Math.max(1, Math.round((context.now - lifecycle.since) / MINUTE));
    const progress = context.lastHeard === undefined ? '' : ` Until then, ${context.lastHeard}.`;
    return `${lifecycle.state} for ${minutes} min, past its deadline. ${STATES[lifecycle.state].waitsFor}${progress}`;
  }
  if (row.to === 'quarantined') return `interrupted: the machine was quarantined while ${lifecycle.state}`;
  return `${row.event} was reported without a reason`;
}

function refusal(lifecycle: Lifecycle, event: LifecycleEvent): string {
  const { state, failure } = lifecycle;
  const where = failure && state === 'failed' ? `${state} (${failure.step})` : state;
  const possible = possibleEvents(lifecycle).filter((each) => EVENTS[each].by === 'operator');
  const advice =
    possible.length > 0 ? `What an operator can do: ${possible.join(', ')}.` : 'No event is possible any more.';
  return `${event} is not possible from ${where}: ${STATES[state].means}. ${STATES[state].waitsFor} ${advice}`;
}
