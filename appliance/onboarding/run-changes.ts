// How a run changes: each function returns the next record with the events that say so. Pure; the store writes both together.

import { type NewEvent, newEvent, type Origin } from '../domain/event.ts';
import type { EventData, EventKind } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import {
  currentStep,
  type FailureClass,
  type Onboarding,
  type OnboardingAction,
  type OnboardingFailure,
  type OnboardingId,
  type OnboardingPolicy,
  type OnboardingRequest,
  type OnboardingStep,
  type StepRecord,
} from '../domain/onboarding.ts';
import type { ActionResult } from './provider.ts';

export interface RunChange {
  readonly run: Onboarding;
  readonly events: readonly NewEvent[];
}

export const APPLIANCE = 'appliance';
const STEPS_KEPT = 100;
const FIRST_PAUSE: Instant = 2 * SECOND;
const LONGEST_PAUSE: Instant = MINUTE;

/** `firstOfSite`: no run of the site has been completed. */
export function requested(
  { id, request, provider, origin, now }: NewRun,
  { firstOfSite }: { readonly firstOfSite: boolean },
): RunChange {
  const run: Onboarding = {
    ...{ id, request, provider, requestedBy: origin.actor, createdAt: now },
    correlationId: origin.correlationId ?? id,
    state: firstOfSite ? 'awaiting-confirmation' : 'running',
    ...{ confirmedBy: null, cancel: null, attempt: 1, retries: 0, steps: [], done: [], doing: null, tries: 0 },
    ...{ notBefore: now, delay: null, machine: null, reference: null, boots: 0, bootedAt: null, work: null },
    ...{ retry: null, failure: null, endedAt: null, version: 1 },
  };
  const { site, profile, sku, bmcAddress } = request;
  const data = { ...named(run), site, profile, sku, bmc_address: bmcAddress };
  const events = [event(run, now, 'onboarding.requested', data, origin.actor)];
  return {
    run,
    events: firstOfSite ? [...events, event(run, now, 'onboarding.unconfirmed', { ...named(run), site })] : events,
  };
}

interface NewRun {
  readonly id: OnboardingId;
  readonly request: OnboardingRequest;
  readonly provider: string;
  readonly origin: Origin;
  readonly now: Instant;
}

export const confirmed = (run: Onboarding, { actor }: Origin, now: Instant): RunChange => ({
  run: next(run, { state: 'running', confirmedBy: actor }),
  events: [event(run, now, 'onboarding.confirmed', named(run), actor)],
});

/** Its work is stopped first; then the run ends. */
export const cancelRequested = (run: Onboarding, { actor, note }: Origin, now: Instant): RunChange => {
  const asked = next(run, { cancel: { by: actor, at: now, note: note ?? null } });
  return run.state === 'running' ? { run: asked, events: [] } : cancelled(asked, now);
};

export function cancelled(run: Onboarding, now: Instant): RunChange {
  const { by = APPLIANCE, note = null } = run.cancel ?? {};
  const reason = `cancelled by ${by}`;
  return {
    run: next(run, { ...ended(run, 'cancelled', reason, now), state: 'cancelled', retry: null, endedAt: now }),
    events: [event(run, now, 'onboarding.cancelled', { ...named(run), note }, by)],
  };
}

/** A person tries a failed run again: with the same id, from the step that failed. */
export function reopened(run: Onboarding, { actor }: Origin, policy: OnboardingPolicy, now: Instant): RunChange {
  const from = restartOf(run.failure?.step ?? 'preflight');
  const attempt = run.attempt + 1;
  const open = next(run, { state: 'running', attempt, retries: 0, failure: null, endedAt: null, cancel: null });
  const begun = entered(open, from, policy, now);
  const opened = event(open, now, 'onboarding.reopened', { ...named(run), attempt, step: from }, actor);
  return { run: { ...begun.run, version: run.version + 1 }, events: [opened, ...begun.events] };
}

export function completed(run: Onboarding, now: Instant): RunChange {
  const seconds = Math.round((now - run.createdAt) / 1000);
  const done = ended(run, 'done', null, now);
  return {
    run: next(run, { ...done, state: 'completed', endedAt: now }),
    events: [event(run, now, 'onboarding.completed', { ...named(run), attempt: run.attempt, seconds })],
  };
}

/** Ends the current step, if there is one, and enters the next. */
export function entered(
  run: Onboarding,
  step: OnboardingStep,
  policy: OnboardingPolicy,
  now: Instant,
  end: { readonly outcome: 'done' | 'skipped'; readonly reason: string | null } = { outcome: 'done', reason: null },
): RunChange {
  const before = currentStep(run);
  const isRunning = before?.outcome === 'running';
  const deadline = now + minutesOf(step, policy) * MINUTE;
  const { attempt } = run;
  const record: StepRecord = {
    step,
    attempt,
    startedAt: now,
    deadline,
    endedAt: null,
    outcome: 'running',
    reason: null,
  };
  const { steps } = isRunning ? ended(run, end.outcome, end.reason, now) : run;
  const data = { ...named(run), attempt };
  return {
    run: next(run, {
      steps: [...steps, record].slice(-STEPS_KEPT),
      ...NOTHING_DONE,
      notBefore: now,
      delay: null,
      retry: null,
      ...(step === 'discover' && { boots: 0, bootedAt: null }),
    }),
    events: [
      ...(isRunning ? [event(run, now, 'onboarding.step-ended', { ...data, step: before.step, ...end })] : []),
      event(run, now, 'onboarding.step', { ...data, step, deadline }),
    ],
  };
}

const NOTHING_DONE = { done: [], doing: null, tries: 0 } as const;

export interface RunFailure {
  readonly class: FailureClass;
  readonly cause: string | null;
  readonly reason: string;
  readonly candidates?: readonly string[];
}

/** Only a class that the policy lists is tried again, and an ambiguous machine never. */
export function failed(
  run: Onboarding,
  { candidates = [], ...found }: RunFailure,
  policy: Pick<OnboardingPolicy, 'retry' | 'retries'>,
  now: Instant,
): RunChange {
  const { step } = currentStep(run) ?? { step: 'preflight' as const };
  const { attempt } = run;
  const failure: OnboardingFailure = { step, attempt, at: now, ...found, candidates };
  const data = { ...named(run), attempt, step, ...found };
  const stopped = { ...ended(run, 'failed', found.reason, now), ...NOTHING_DONE };
  const isListed = policy.retry.includes(found.class) && run.retries < policy.retries;
  // A failure while it prepares for the next attempt, or stops, ends the run.
  if (isListed && candidates.length === 0 && run.retry === null && run.cancel === null) {
    return {
      run: next(run, { ...stopped, failure, retry: { from: restartOf(step), failure } }),
      events: [event(run, now, 'onboarding.retried', data)],
    };
  }
  return {
    run: next(run, { ...stopped, state: 'failed', failure, retry: null, endedAt: now }),
    events: [event(run, now, 'onboarding.failed', { ...data, candidates: [...candidates] })],
  };
}

/** The next attempt begins: nothing of the failed one is running. */
export function retried(run: Onboarding, from: OnboardingStep, policy: OnboardingPolicy, now: Instant): RunChange {
  const again = { ...run, attempt: run.attempt + 1, retries: run.retries + 1, work: null };
  return entered(again, from, policy, now);
}

/** On disk before the action begins. */
export const begun = (run: Onboarding, action: OnboardingAction, now: Instant): RunChange => ({
  run: next(run, { doing: action, ...(action === 'boot' && { bootedAt: now }) }),
  events: [],
});

export function acted(
  run: Onboarding,
  action: OnboardingAction,
  result: ActionResult,
  policy: OnboardingPolicy,
  now: Instant,
): RunChange {
  if (result.ok) {
    const { machine = run.machine, reference = run.reference, work = run.work } = result;
    const boots = run.boots + (action === 'boot' ? 1 : 0);
    const done = [...run.done.filter((one) => one !== action), action];
    return { run: next(run, { ...NOTHING_DONE, done, machine, reference, work, boots, delay: null }), events: [] };
  }
  if (result.later) {
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(run.tries, 10));
    return delayed(next(run, { tries: run.tries + 1, notBefore: now + pause }), run, result.reason, now);
  }
  const { class: about, reason, candidates } = result;
  return failed(run, { class: about, cause: null, reason, ...(candidates && { candidates }) }, policy, now);
}

/** Its provider could not be asked. Null: this is known already. */
export const unobserved = (run: Onboarding, reason: string, now: Instant): RunChange | null =>
  run.delay === reason ? null : delayed(next(run, {}), run, reason, now);

/** Its provider answers again. */
export const observedAgain = (run: Onboarding): RunChange => ({ run: next(run, { delay: null }), events: [] });

/** Recorded when the reason is new, not for every try. */
function delayed(run: Onboarding, before: Onboarding, delay: string, now: Instant): RunChange {
  const { step } = currentStep(run) ?? { step: 'preflight' as const };
  const data = { ...named(run), attempt: run.attempt, step, reason: delay };
  const isKnown = (before.delay ?? null) === delay;
  return { run: { ...run, delay }, events: isKnown ? [] : [event(run, now, 'onboarding.delayed', data)] };
}

/** Where an attempt begins again: a deployment is checked again before it is repeated. */
const restartOf = (step: OnboardingStep): OnboardingStep =>
  step === 'deploy' || step === 'enroll' || step === 'verify' ? 'predeploy' : step;

const MINUTES: Readonly<Record<Exclude<OnboardingStep, 'discover' | 'deploy'>, number>> = {
  // The appliance's own checks: a thousand runs at once wait for each other.
  preflight: 30,
  // Longer than the limit of the state, whose failure says more.
  commission: 25,
  predeploy: 30,
  enroll: 20,
  verify: 10,
};
const BEYOND_DEPLOY = 10;

function minutesOf(step: OnboardingStep, { discoveryMinutes, deployMinutes }: OnboardingPolicy): number {
  if (step === 'discover') return discoveryMinutes;
  return step === 'deploy' ? deployMinutes + BEYOND_DEPLOY : MINUTES[step];
}

function ended(
  { steps }: Onboarding,
  outcome: StepRecord['outcome'],
  reason: string | null,
  now: Instant,
): Pick<Onboarding, 'steps'> {
  const last = steps.at(-1);
  if (last?.outcome !== 'running') return { steps };
  return { steps: [...steps.slice(0, -1), { ...last, outcome, reason, endedAt: now }] };
}

const next = (run: Onboarding, changes: Partial<Onboarding>): Onboarding => ({
  ...run,
  ...changes,
  version: run.version + 1,
});

const named = ({ id, request }: Onboarding) => ({ onboarding: id, hostname: request.hostname });

function event<Kind extends EventKind>(
  { machine, correlationId }: Onboarding,
  at: Instant,
  kind: Kind,
  data: EventData<Kind>,
  actor: string = APPLIANCE,
): NewEvent {
  return newEvent({ at, actor, machine, correlationId }, kind, data);
}
