// Drives the open runs: observes, decides, records, acts. All progress is in the store, so that a new process continues where the last one
// was killed. A change of a machine wakes its run; a timer wakes a run at its deadline.

import { ColdironError } from '../domain/errors.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import {
  currentStep,
  isOpen,
  type Onboarding,
  type OnboardingId,
  type OnboardingPolicy,
} from '../domain/onboarding.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Publication } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import { decideRun, hasStartedWork, LONGEST_RETURN } from './decide-run.ts';
import type { ActionResult, Doing, Observations, OnboardingProvider } from './provider.ts';
import { acted, begun, cancelled, entered, failed, observedAgain, type RunChange, unobserved } from './run-changes.ts';

interface Timer {
  readonly cancel: () => void;
}

export interface OnboardingRunnerDeps {
  readonly store: Pick<Store, 'onboarding' | 'openOnboardings' | 'updateOnboarding' | 'subscribe'>;
  readonly providers: ReadonlyMap<string, OnboardingProvider>;
  /** A reason when the site or the profile does not exist any more. */
  readonly policy: (run: Onboarding) => Parsed<OnboardingPolicy>;
  readonly clock: { now(): Instant; setTimer(delay: number, run: () => void): Timer };
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** What is not published, such as packets of undeclared machines and heartbeats, is looked for this often; so are new machines. */
const LOOK_EVERY: Instant = 5 * SECOND;
/** Changes of other processes are noticed after at most this long. */
const LONGEST_NAP: Instant = 30 * SECOND;
const AFTER_AN_ERROR: Instant = 5 * SECOND;
/** A run that is due, and that nothing moves, must not cause a busy loop. */
const SHORTEST_NAP: Instant = 100;
/** Most of them wait for a BMC. As many as the gates of the BMCs let through, so that dead BMCs do not hold up the other runs. */
const DRIVEN_AT_ONCE = 256;
const MOST_MOVES_IN_A_ROW = 40;

export class OnboardingRunner {
  readonly #deps: OnboardingRunnerDeps;
  readonly #open = new Map<OnboardingId, { readonly machine: MachineId | null; readonly discovers: boolean }>();
  readonly #byMachine = new Map<MachineId, OnboardingId>();
  #discovering = 0;
  readonly #timers = new Map<OnboardingId, Timer>();
  readonly #waiting = new Set<OnboardingId>();
  readonly #driven = new Map<OnboardingId, Promise<void>>();
  readonly #wokenMeanwhile = new Set<OnboardingId>();
  #started = false;
  #unsubscribe = (): void => undefined;

  constructor(deps: OnboardingRunnerDeps) {
    this.#deps = deps;
  }

  /** Continues the runs that an earlier process left open. */
  async start(): Promise<void> {
    this.#started = true;
    this.#unsubscribe = this.#deps.store.subscribe((publication) => this.#published(publication));
    for (const run of await this.#deps.store.openOnboardings()) {
      this.#remember(run);
      this.wake(run.id);
    }
  }

  /** Starts nothing new; what runs ends by its own limits, and the next process records or repeats it. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#unsubscribe();
    this.#waiting.clear();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Runs that look for their machine. */
  get discovering(): number {
    return this.#discovering;
  }

  /** Resolves when no run can be driven further now. */
  async idle(): Promise<void> {
    while (this.#driven.size + this.#waiting.size > 0) await Promise.all(this.#driven.values());
  }

  /** Looks at this run now: it is new, or a person changed it. */
  wake(id: OnboardingId): void {
    if (!this.#started) return;
    if (this.#driven.has(id)) {
      this.#wokenMeanwhile.add(id);
      return;
    }
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
    this.#waiting.add(id);
    this.#begin();
  }

  /**
   * A change of its machine wakes a run. A write of the inventory wakes none: with a thousand runs, each of which writes its node, that would be
   * a million looks; what a run waits for in the inventory is looked for, and a changed policy counts at its next step.
   */
  #published({ machine }: Publication): void {
    const run = machine && this.#byMachine.get(machine.id);
    if (run) this.wake(run);
  }

  #begin(): void {
    for (const id of this.#waiting) {
      if (this.#driven.size >= DRIVEN_AT_ONCE) return;
      this.#waiting.delete(id);
      const driven = this.#drive(id).finally(() => {
        this.#driven.delete(id);
        if (this.#wokenMeanwhile.delete(id)) this.wake(id);
        this.#begin();
      });
      this.#driven.set(id, driven);
    }
  }

  async #drive(id: OnboardingId): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      const until = await this.#moves(id);
      if (until !== null && this.#started) this.#timer(id, until - clock.now());
    } catch (error) {
      log.error({ err: error, onboarding: id }, 'an onboarding run could not be driven, will be retried');
      if (this.#started) this.#timer(id, AFTER_AN_ERROR);
    }
  }

  #timer(id: OnboardingId, delay: number): void {
    const wait = Math.min(LONGEST_NAP, Math.max(SHORTEST_NAP, delay));
    this.#timers.get(id)?.cancel();
    this.#timers.set(
      id,
      this.#deps.clock.setTimer(wait, () => this.wake(id)),
    );
  }

  /** Until when the run waits; null: it is over. */
  async #moves(id: OnboardingId): Promise<Instant | null> {
    const { store, clock } = this.#deps;
    for (let moves = 0; moves < MOST_MOVES_IN_A_ROW && this.#started; moves += 1) {
      const run = await store.onboarding(id);
      if (run === null || !isOpen(run.state)) {
        this.#forget(id);
        return null;
      }
      this.#remember(run);
      const until = await this.#move(run);
      if (until !== 'moved') return until;
    }
    return clock.now() + LOOK_EVERY;
  }

  async #move(run: Onboarding): Promise<Instant | 'moved'> {
    const { clock } = this.#deps;
    const policy = this.#deps.policy(run);
    const provider = this.#deps.providers.get(run.provider);
    if (!policy.ok || provider === undefined) {
      const reason = policy.ok ? `there is no provider ${run.provider}` : policy.reason;
      if (run.state !== 'running') return clock.now() + LONGEST_NAP;
      return this.#moved(failed(run, unknown(reason), NO_RETRIES, clock.now()));
    }
    // The first step begins before anything is asked: a run without a step would have no deadline.
    if (run.state === 'running' && run.cancel === null && currentStep(run) === null) {
      return this.#moved(entered(run, 'preflight', policy.value, clock.now()));
    }
    const observed = await this.#observe(run, provider);
    if (!observed.ok) {
      const limit = run.retry === null ? currentStep(run)?.deadline : run.retry.failure.at + LONGEST_RETURN;
      const late = clock.now() >= (limit ?? Number.POSITIVE_INFINITY);
      const found = unknown(`${noAnswer(provider)}: ${observed.reason}`);
      // Nobody needs to be asked to stop what never began.
      if (run.cancel !== null && !hasStartedWork(run)) return this.#moved(cancelled(run, clock.now()));
      if (late) return this.#moved(failed(run, found, policy.value, clock.now()));
      const delayed = run.state === 'running' ? unobserved(run, found.reason, clock.now()) : null;
      if (delayed !== null) await this.#write(delayed);
      return clock.now() + AFTER_AN_ERROR;
    }
    if (run.delay?.startsWith(noAnswer(provider)) === true) return this.#moved(observedAgain(run));
    const move = decideRun(run, observed.value, policy.value, clock.now());
    if (move.kind === 'wait') return Math.min(move.until ?? Number.POSITIVE_INFINITY, lookAgain(run, clock.now()));
    if (move.kind === 'change') return this.#moved(move.change);
    return this.#act(run, move.doing, provider, policy.value);
  }

  async #observe(run: Onboarding, provider: OnboardingProvider): Promise<Parsed<Observations>> {
    const explain = this.#deps.clock.now() >= (currentStep(run)?.deadline ?? Number.POSITIVE_INFINITY);
    try {
      return { ok: true, value: await provider.observe(run, { explain }) };
    } catch (error) {
      this.#deps.log.warn({ err: error, onboarding: run.id }, 'the machine of an onboarding run cannot be observed');
      return { ok: false, reason: messageOf(error) };
    }
  }

  async #act(run: Onboarding, doing: Doing, provider: OnboardingProvider, policy: OnboardingPolicy): Promise<'moved'> {
    const { clock, store } = this.#deps;
    const { action } = doing;
    const recorded = run.doing === action ? run : begun(run, action, clock.now()).run;
    if (recorded !== run && (await this.#write({ run: recorded, events: [] })) === 'lost') return 'moved';
    const result = await this.#result(recorded, doing, provider, policy);
    // Meanwhile a person may have cancelled the run: the result belongs to the newest record.
    for (;;) {
      const now = await store.onboarding(run.id);
      if (now === null || now.doing !== action || !isOpen(now.state)) return 'moved';
      if ((await this.#write(acted(now, action, result, policy, clock.now()))) === 'written') return 'moved';
    }
  }

  async #result(
    run: Onboarding,
    doing: Doing,
    provider: OnboardingProvider,
    policy: OnboardingPolicy,
  ): Promise<ActionResult> {
    try {
      return await provider.act(run, doing, policy, actionId(run, doing), this.#deps.clock.now());
    } catch (error) {
      this.#deps.log.warn(
        { err: error, onboarding: run.id, action: doing.action },
        'an action of an onboarding run failed, will be retried',
      );
      return { ok: false, later: true, reason: messageOf(error) };
    }
  }

  async #moved(change: RunChange): Promise<'moved'> {
    await this.#write(change);
    return 'moved';
  }

  async #write({ run, events }: RunChange): Promise<'written' | 'lost'> {
    try {
      await this.#deps.store.updateOnboarding(run, events, []);
      return 'written';
    } catch (error) {
      // Decided again, on the record that is there now.
      if (error instanceof ColdironError && error.code === 'version_conflict') return 'lost';
      throw error;
    }
  }

  #remember({ id, machine, steps }: Onboarding): void {
    this.#forget(id);
    const discovers = steps.at(-1)?.step === 'discover';
    this.#open.set(id, { machine, discovers });
    if (machine !== null) this.#byMachine.set(machine, id);
    if (discovers) this.#discovering += 1;
  }

  #forget(id: OnboardingId): void {
    const known = this.#open.get(id);
    if (known === undefined) return;
    this.#open.delete(id);
    if (known.machine !== null && this.#byMachine.get(known.machine) === id) this.#byMachine.delete(known.machine);
    if (known.discovers) this.#discovering -= 1;
  }
}

/** The same for each repetition of an action in one attempt, and for no other action: a step is visited once in an attempt. */
export const actionId = ({ id, attempt, boots }: Onboarding, { action }: Doing): string =>
  `${id}.${attempt}.${action}${action === 'boot' ? `.${boots}` : ''}`;

const lookAgain = (run: Onboarding, now: Instant): Instant => {
  const step = currentStep(run)?.step;
  return now + (step === 'discover' || step === 'verify' ? LOOK_EVERY : LONGEST_NAP);
};

const noAnswer = ({ name }: OnboardingProvider): string => `${name} does not answer`;
const unknown = (reason: string) => ({ class: 'unknown', cause: null, reason }) as const;
const NO_RETRIES = { retry: [], retries: 0 } as const;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
