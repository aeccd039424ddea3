// A simulated provider with one machine, a store of runs in memory, and processes that can be killed between any two operations.

import { ColdironError } from '../../appliance/domain/errors.ts';
import type { NewEvent } from '../../appliance/domain/event.ts';
import { type Instant, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import {
  DEFAULT_ONBOARDING,
  type FailureClass,
  isOpen,
  type Onboarding,
  type OnboardingAction,
  type OnboardingId,
  type OnboardingPolicy,
} from '../../appliance/domain/onboarding.ts';
import { mustParse, parsed } from '../../appliance/domain/parsed.ts';
import type { NewMachine } from '../../appliance/onboarding/discovery-order.ts';
import { OnboardingRunner } from '../../appliance/onboarding/onboarding-runner.ts';
import type {
  ActionResult,
  Doing,
  MachineStage,
  Observations,
  OnboardingProvider,
} from '../../appliance/onboarding/provider.ts';
import { cancelRequested, requested } from '../../appliance/onboarding/run-changes.ts';
import { checkedEvent } from '../domain/events/checked-event.ts';
import { FakeClock } from '../machines/fake-clock.ts';
import { machineId, T0 } from '../machines/machines.ts';

export const REQUEST = {
  site: mustParse(parseObjectName('lab')),
  profile: mustParse(parseObjectName('worker')),
  sku: mustParse(parseObjectName('gp1')),
  hostname: mustParse(parseHostname('c07u31')),
  bmcAddress: mustParse(parseIpv4('10.0.200.31')),
};

export const POLICY: OnboardingPolicy = { ...DEFAULT_ONBOARDING, deployMinutes: 60 };

export const aRun = (changes: Partial<Onboarding> = {}, firstOfSite = false): Onboarding => {
  const origin = { actor: 'token:ops', correlationId: 'corr-1' };
  const id = 'run-1' as OnboardingId;
  return {
    ...requested({ id, request: REQUEST, provider: 'simulated', origin, now: T0 }, { firstOfSite }).run,
    ...changes,
  };
};

class Killed extends Error {}

/** How a deployment ends: it enrolls, or fails in this class, while it is installed or afterwards. */
export type Course = 'enrolls' | { readonly fails: FailureClass; readonly in: 'deploying' | 'enrolling' };

export interface Script {
  /** One for each attempt; the last one repeats. */
  readonly courses: readonly Course[];
  readonly policy?: Partial<OnboardingPolicy>;
  readonly commissionFails?: boolean;
  /** A network boot that is not seen. */
  readonly ignoredBoots?: number;
  readonly newMachines?: readonly Omit<NewMachine, 'firstSeen'>[];
  readonly predeploy?: ActionResult;
  /** A person cancels when this action has begun. */
  readonly cancelDuring?: OnboardingAction;
}

const MINUTES_OF_WORK = 3;

export class World {
  readonly clock = new FakeClock(T0);
  readonly script: Script;
  readonly policy: OnboardingPolicy;
  readonly events: NewEvent[] = [];
  /** What really happened to the machine, in order. An action that was repeated is here once. */
  readonly effects: string[] = [];
  readonly #executed = new Map<string, ActionResult>();
  run: Onboarding;
  #stage: MachineStage = 'new';
  #exists = false;
  #knowsCards = false;
  #bootedAt: Instant | null = null;
  #work: string | null = null;
  #workSince: Instant = T0;
  #deployments = 0;
  #boots = 0;
  /** Operations until the process is killed; before or after the operation takes effect. */
  #killIn = Number.POSITIVE_INFINITY;
  #killAfter = false;
  operations = 0;

  constructor(script: Script, run: Onboarding = aRun()) {
    this.script = script;
    this.run = run;
    this.policy = { ...POLICY, ...script.policy };
  }

  killIn(operations: number, after: boolean): void {
    this.#killIn = operations;
    this.#killAfter = after;
  }

  /** A process that lives until it is killed or the run is over. Returns whether it was killed. */
  async process(): Promise<boolean> {
    let dead = false;
    const alive = async <T>(operation: () => T): Promise<T> => {
      if (dead) throw new Killed();
      this.operations += 1;
      this.#killIn -= 1;
      if (this.#killIn >= 0) return operation();
      dead = true;
      this.#killIn = Number.POSITIVE_INFINITY;
      if (this.#killAfter) operation();
      throw new Killed();
    };
    const provider: OnboardingProvider = {
      name: 'simulated',
      observe: (run) => alive(() => this.#observe(run)),
      act: (run, doing, _policy, id) => alive(() => this.#act(run, doing, id)),
    };
    const runner = new OnboardingRunner({
      store: {
        onboarding: () => alive(() => this.run),
        openOnboardings: async () => (isOpen(this.run.state) ? [this.run] : []),
        updateOnboarding: (next, events) => alive(() => this.#write(next, events)),
        subscribe: () => () => undefined,
      },
      providers: new Map([[provider.name, provider]]),
      policy: () => parsed(this.policy),
      clock: this.clock,
      log: { warn: () => undefined, error: () => undefined },
    });
    await runner.start();
    const rest = () => runner.idle();
    for (let hours = 0; isOpen(this.run.state) && !dead && hours < 2000; hours += 1) {
      await this.clock.advance(10 * SECOND, rest);
      this.#passTime();
    }
    await runner.stop();
    return dead;
  }

  #write(next: Onboarding, events: readonly NewEvent[]): void {
    if (next.version !== this.run.version + 1) throw new ColdironError('version_conflict', 'changed');
    // As the store does it.
    this.run = JSON.parse(JSON.stringify(next)) as Onboarding;
    this.events.push(...events.map(checkedEvent));
    if (this.run.doing !== null && this.run.doing === this.script.cancelDuring && this.run.cancel === null) {
      const change = cancelRequested(this.run, { actor: 'token:ops', correlationId: null }, this.clock.now());
      this.run = change.run;
    }
  }

  #observe(run: Onboarding): Observations {
    const { newMachines = [], ignoredBoots = 0 } = this.script;
    const isVisible = this.#bootedAt !== null && this.#boots > ignoredBoots;
    const firstSeen = (this.#bootedAt ?? 0) + MINUTE;
    const shown = isVisible && this.clock.now() >= firstSeen ? newMachines : [];
    if (!this.#exists || run.machine === null) {
      const candidate = { id: machineId(1), name: 'c07u31', hostname: 'c07u31', bmcAddress: null, pxeMac: false };
      return { machine: null, candidates: this.#exists ? [candidate] : [], newMachines: [] };
    }
    const course = this.#course(this.#deployments);
    const about = course !== 'enrolls' ? course.fails : 'unknown';
    return {
      machine: {
        stage: this.#stage,
        detail: this.#stage,
        recognizable: this.#knowsCards,
        work: this.#work,
        failure: this.#stage === 'failed' ? { class: about, cause: 'simulated', reason: 'it was simulated' } : null,
        missing: [],
        reported: true,
      },
      candidates: [],
      newMachines: this.#knowsCards ? [] : shown.map((one) => ({ ...one, firstSeen })),
    };
  }

  /** Executed once for each id, like a command with its id in the store; a network boot is executed each time. */
  #act(_run: Onboarding, { action, target }: Doing, id: string): ActionResult {
    const before = this.#executed.get(id);
    if (before !== undefined && action !== 'boot') return before;
    const result = this.#execute(action, target);
    if (result.ok) this.#executed.set(id, result);
    return result;
  }

  #execute(action: OnboardingAction, target: string | null): ActionResult {
    const begin = (stage: MachineStage): void => {
      this.#stage = stage;
      this.#workSince = this.clock.now();
    };
    this.effects.push(target === null || action === 'adopt' ? action : `${action} ${target}`);
    switch (action) {
      case 'create':
        if (this.#exists) throw new Error('created twice');
        this.#exists = true;
        return { ok: true, machine: machineId(1), reference: machineId(1) };
      case 'adopt':
        return { ok: true, machine: machineId(1), reference: machineId(1) };
      case 'boot':
        this.#boots += 1;
        this.#bootedAt = this.clock.now();
        return { ok: true };
      case 'claim':
        this.#knowsCards = true;
        return { ok: true };
      case 'commission':
        begin('commissioning');
        return { ok: true };
      case 'deploy':
        if (this.#stage !== 'ready') throw new ColdironError('conflict', `it is ${this.#stage}`);
        this.#deployments += 1;
        this.#work = `work-${this.#deployments}`;
        begin('deploying');
        return { ok: true, work: this.#work };
      case 'abort':
        this.#stage = 'failed';
        return { ok: true };
      case 'return-to-ready':
        this.#stage = 'ready';
        return { ok: true };
      case 'check-predeploy':
        return this.script.predeploy ?? { ok: true };
      case 'check-preflight':
        return { ok: true };
    }
  }

  #course(deployment: number): Course {
    const { courses } = this.script;
    return courses[Math.max(0, deployment - 1)] ?? courses.at(-1) ?? 'enrolls';
  }

  #passTime(): void {
    if (this.clock.now() - this.#workSince < MINUTES_OF_WORK * MINUTE) return;
    const course = this.#course(this.#deployments);
    const become = (stage: MachineStage): void => {
      this.#stage = stage;
      this.#workSince = this.clock.now();
    };
    if (this.#stage === 'commissioning') become(this.script.commissionFails ? 'failed' : 'ready');
    else if (this.#stage === 'deploying')
      become(course !== 'enrolls' && course.in === 'deploying' ? 'failed' : 'enrolling');
    else if (this.#stage === 'enrolling') become(course === 'enrolls' ? 'active' : 'failed');
  }
}

/** From the request to its end, in one process. */
export async function lived(script: Script, run?: Onboarding): Promise<World> {
  const world = new World(script, run);
  await world.process();
  return world;
}
