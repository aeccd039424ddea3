// What a run does next: (run, observations, policy, now) → an action, a change of the record, or waiting. Pure. A run that is killed anywhere
// continues from its record: the same input gives the same answer.

import type { Instant } from '../domain/instant.ts';
import { MINUTE } from '../domain/instant.ts';
import { currentStep, type Onboarding, type OnboardingPolicy, type StepRecord } from '../domain/onboarding.ts';
import { claimMachine, findMachine } from './discovery-order.ts';
import type { Doing, MachineStage, Observations, ObservedMachine } from './provider.ts';
import { cancelled, completed, entered, failed, type RunChange, type RunFailure, retried } from './run-changes.ts';

export type Move =
  | { readonly kind: 'act'; readonly doing: Doing }
  | { readonly kind: 'change'; readonly change: RunChange }
  /** Until something is observed, at the latest until then; null: only an observation can help. */
  | { readonly kind: 'wait'; readonly until: Instant | null };

/** The stages in which the provider works on the machine. */
const WORKING: readonly MachineStage[] = ['commissioning', 'deploying', 'enrolling'];
/** A firmware that ignored a network boot gets another one after this time. */
const BOOT_AGAIN_AFTER: Instant = 8 * MINUTE;
const MOST_BOOTS = 3;
/** Between two attempts: another system may erase the disks meanwhile. */
export const LONGEST_RETURN: Instant = 180 * MINUTE;

export function decideRun(run: Onboarding, observed: Observations, policy: OnboardingPolicy, now: Instant): Move {
  if (run.state !== 'running') return { kind: 'wait', until: null };
  if (run.cancel !== null) return toCancel(run, observed, now);
  if (run.retry !== null) return toRetry(run, observed, policy, now);
  const step = currentStep(run);
  if (step === null) return { kind: 'change', change: entered(run, 'preflight', policy, now) };
  const { machine } = observed;
  const fail = (found: RunFailure): Move => ({ kind: 'change', change: failed(run, found, policy, now) });
  if (run.reference !== null && machine === null) {
    return fail({ class: 'unknown', cause: null, reason: `${run.provider} no longer has the machine` });
  }
  const isOver = step.step === 'verify' && isComplete(run, machine, policy);
  if (now >= step.deadline && !isOver) return fail(lateness(run, step, machine, policy, now));
  if (now < run.notBefore) return { kind: 'wait', until: Math.min(run.notBefore, step.deadline) };
  const move = STEPS[step.step]({ run, step, observed, policy, now, fail });
  return move.kind === 'wait' ? { ...move, until: Math.min(move.until ?? step.deadline, step.deadline) } : move;
}

interface Situation {
  readonly run: Onboarding;
  readonly step: StepRecord;
  readonly observed: Observations;
  readonly policy: OnboardingPolicy;
  readonly now: Instant;
  readonly fail: (found: RunFailure) => Move;
}

const WAIT: Move = { kind: 'wait', until: null };
const act = (action: Doing['action'], target: string | null = null): Move => ({
  kind: 'act',
  doing: { action, target },
});
const enter = ({ run, policy, now }: Situation, step: StepRecord['step'], skipped: string | null = null): Move => ({
  kind: 'change',
  change: entered(run, step, policy, now, { outcome: skipped === null ? 'done' : 'skipped', reason: skipped }),
});
const unexpected = (reason: string): RunFailure => ({ class: 'unknown', cause: null, reason });

const STEPS: Readonly<Record<StepRecord['step'], (situation: Situation) => Move>> = {
  preflight: (one) => (one.run.done.includes('check-preflight') ? enter(one, 'discover') : act('check-preflight')),
  discover,
  commission,
  predeploy: (one) => (one.run.done.includes('check-predeploy') ? enter(one, 'deploy') : act('check-predeploy')),
  deploy,
  enroll,
  verify,
};

function discover(one: Situation): Move {
  const { run, observed, policy, now, fail } = one;
  if (run.reference === null) {
    const found = findMachine(run.request, observed.candidates, policy);
    if (found.kind === 'stop') return fail({ ...unexpected(found.reason), candidates: found.candidates });
    return found.kind === 'use' ? act('adopt', found.candidate.id) : act('create');
  }
  if (observed.machine?.recognizable) return enter(one, 'commission');
  const claim = claimMachine(observed.newMachines, policy, now);
  if (claim.kind === 'claim') return act('claim', claim.machine.id);
  const last = run.bootedAt;
  const isSeen = observed.newMachines.some(({ identity }) => identity !== 'other');
  const again = last !== null && now - last >= BOOT_AGAIN_AFTER && run.boots < MOST_BOOTS;
  if (run.boots === 0 || run.doing === 'boot' || (again && !isSeen)) return act('boot');
  if (claim.kind === 'stop') return fail({ ...unexpected(claim.reason), candidates: claim.candidates });
  const nextBoot = last === null || isSeen || run.boots >= MOST_BOOTS ? null : last + BOOT_AGAIN_AFTER;
  return { kind: 'wait', until: earliest(claim.until, nextBoot) };
}

function commission(one: Situation): Move {
  const { run, observed, fail } = one;
  const { machine } = observed;
  if (machine === null) return fail(unexpected('the machine is not known'));
  if (run.done.includes('commission')) {
    if (machine.stage === 'ready') return enter(one, 'predeploy');
    if (machine.stage === 'commissioning') return WAIT;
    return fail(stopped(machine, 'commissioning'));
  }
  if (machine.stage === 'ready') return enter(one, 'predeploy', 'it is ready already');
  // `commissioning`: the command was executed, and the answer was lost.
  if (['new', 'failed', 'commissioning'].includes(machine.stage)) return act('commission');
  return fail(unexpected(`it is ${machine.detail}: only a machine that is not in use can be onboarded`));
}

function deploy(one: Situation): Move {
  const { run, observed, fail } = one;
  const { machine } = observed;
  if (machine === null) return fail(unexpected('the machine is not known'));
  if (!run.done.includes('deploy')) {
    const lost = run.doing === 'deploy' && (WORKING.includes(machine.stage) || machine.stage === 'active');
    if (machine.stage === 'ready' || machine.stage === 'failed' || lost) return act('deploy');
    return fail(unexpected(`it is ${machine.detail}, so nothing can be deployed to it`));
  }
  if (machine.work !== run.work) return fail(replaced());
  if (machine.stage === 'enrolling' || machine.stage === 'active') return enter(one, 'enroll');
  if (machine.stage === 'deploying') return WAIT;
  return fail(stopped(machine, 'deployment'));
}

function enroll(one: Situation): Move {
  const { run, observed, fail } = one;
  const { machine } = observed;
  if (machine === null) return fail(unexpected('the machine is not known'));
  if (machine.work !== run.work) return fail(replaced());
  if (machine.stage === 'active') return enter(one, 'verify');
  // A first boot that reports its failure does not go on by itself.
  if (machine.stage === 'enrolling' && machine.failure === null) return WAIT;
  return fail(stopped(machine, 'enrollment'));
}

function verify({ run, observed: { machine }, policy, now, fail }: Situation): Move {
  if (machine === null) return fail(unexpected('the machine is not known'));
  if (machine.work !== run.work) return fail(replaced());
  if (isComplete(run, machine, policy)) return { kind: 'change', change: completed(run, now) };
  return machine.stage === 'active' ? WAIT : fail(stopped(machine, 'verification'));
}

/** All gates: installed, enrolled and active by the deployment of this attempt, and nothing is missing. */
function isComplete({ work }: Onboarding, machine: ObservedMachine | null, policy: OnboardingPolicy): boolean {
  const isOurs = machine?.stage === 'active' && work !== null && machine.work === work;
  return isOurs && gatesLeft(machine, policy).length === 0;
}

const gatesLeft = ({ missing, reported }: ObservedMachine, { hardwareSync }: OnboardingPolicy): readonly string[] => [
  ...missing,
  ...(hardwareSync && !reported ? ['the installed system has not reported yet (hardware_sync)'] : []),
];

const replaced = (): RunFailure => unexpected('another deployment of the machine was started meanwhile');

function stopped({ stage, detail, failure }: ObservedMachine, what: string): RunFailure {
  if (failure !== null) return failure;
  return unexpected(stage === 'failed' ? `the ${what} failed: ${detail}` : `the ${what} was stopped: it is ${detail}`);
}

function lateness(
  run: Onboarding,
  step: StepRecord,
  machine: ObservedMachine | null,
  policy: OnboardingPolicy,
  now: Instant,
): RunFailure {
  const minutes = Math.max(1, Math.round((now - step.startedAt) / MINUTE));
  const missing = step.step === 'verify' && machine !== null ? gatesLeft(machine, policy) : [];
  const where = machine === null ? '' : `; it is ${machine.detail}`;
  const why = [`${step.step} for ${minutes} min, past its deadline${where}${delayOf(run)}`, ...missing].join('; ');
  if (machine?.failure) return { ...machine.failure, reason: `${why}: ${machine.failure.reason}` };
  // Without a packet of the machine, its power, its cable or its boot order is wrong.
  const silent = step.step === 'discover' && run.boots > 0;
  return { class: silent ? 'network' : 'unknown', cause: null, reason: why };
}

/** Work that this run started is stopped; work of somebody else is not. */
function toCancel(run: Onboarding, { machine }: Observations, now: Instant): Move {
  const owns = hasStartedWork(run);
  const stop = owns && machine !== null && WORKING.includes(machine.stage) && !run.done.includes('abort');
  return stop && now >= run.notBefore
    ? act('abort')
    : stop
      ? { kind: 'wait', until: run.notBefore }
      : { kind: 'change', change: cancelled(run, now) };
}

const delayOf = ({ delay }: Onboarding): string => (delay ? `; ${delay}` : '');

/** Whether there may be work that has to be stopped. */
export const hasStartedWork = (run: Onboarding): boolean => {
  const last = currentStep(run);
  const begins = (action: 'commission' | 'deploy'): boolean => run.done.includes(action) || run.doing === action;
  return begins('commission') || begins('deploy') || last?.step === 'enroll' || last?.step === 'verify';
};

/** Abort, return to ready, then the next attempt. */
function toRetry(run: Onboarding, { machine }: Observations, policy: OnboardingPolicy, now: Instant): Move {
  if (now < run.notBefore) return { kind: 'wait', until: run.notBefore };
  const from = run.retry?.from ?? 'preflight';
  const stage = machine?.stage ?? 'other';
  if (now >= (run.retry?.failure.at ?? now) + LONGEST_RETURN) {
    const reason = `it was not ready again ${LONGEST_RETURN / MINUTE} min after the failure${delayOf(run)}`;
    return { kind: 'change', change: failed(run, unexpected(reason), policy, now) };
  }
  if (WORKING.includes(stage) && !run.done.includes('abort')) return act('abort');
  // A provider that is releasing the machine has not failed: it is asked again until it is ready.
  const isReturning = stage === 'failed' || (stage === 'other' && run.doing === 'return-to-ready');
  if (from === 'predeploy' && isReturning && !run.done.includes('return-to-ready')) return act('return-to-ready');
  return { kind: 'change', change: retried(run, from, policy, now) };
}

const earliest = (one: Instant | null, other: Instant | null): Instant | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);
