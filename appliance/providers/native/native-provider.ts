// Coldiron itself as the provider of onboarding runs: nodes of the inventory, their lifecycle, and their BMCs. Commands carry the id of the
// run's action, so that the store executes each once.

import type { BmcService } from '../../bmc/access/bmc-service.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { failedTo, type LifecycleState } from '../../domain/lifecycle.ts';
import { type Machine, type MachineId, macsOf } from '../../domain/machine.ts';
import type { FailureClass, Onboarding, OnboardingAction, OnboardingPolicy } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import { type ClassifiedFailure, classified, type FoundCause } from '../../onboarding/classify-failure.ts';
import type { Candidate } from '../../onboarding/discovery-order.ts';
import type {
  ActionResult,
  Doing,
  MachineStage,
  Observations,
  ObservedMachine,
  ObserveOptions,
  OnboardingProvider,
} from '../../onboarding/provider.ts';
import type { NodeWork } from '../../provisioning/node-work.ts';
import type { Store } from '../../store/store.ts';
import { type BmcAnswer, BmcCards, bootCard, prospective } from './bmc-cards.ts';
import { newMachines } from './new-machines.ts';
import { adoptNode, claimNode, createNode, type NodeWritesDeps, specOf } from './node-writes.ts';
import { type PreflightDeps, preflightProblems } from './preflight.ts';

export interface NativeProviderDeps extends NodeWritesDeps, Omit<PreflightDeps, 'namesCard'> {
  readonly store: Pick<Store, 'machine' | 'events' | 'sessionsOf' | 'factsOf' | 'writeInventory' | 'changesSince'>;
  readonly fleet: Fleet;
  readonly work: Pick<NodeWork, 'plain' | 'deploy' | 'cancel' | 'findings'>;
  readonly commands: Pick<MachineCommands, 'request'>;
  readonly bmc: Pick<BmcService['nodes'], 'ask' | 'act'>;
  /** The causes of a machine that is stuck or has failed, the most likely first. */
  readonly causes: (machine: Machine) => Promise<readonly FoundCause[]>;
  readonly lastHeartbeat: (machine: MachineId) => Instant | null;
}

const STAGES: Readonly<Record<Exclude<LifecycleState, 'removed'>, MachineStage>> = {
  discovered: 'new',
  registered: 'new',
  commissioning: 'commissioning',
  ready: 'ready',
  deploying: 'deploying',
  enrolling: 'enrolling',
  active: 'active',
  failed: 'failed',
  draining: 'other',
  releasing: 'other',
  rescue: 'other',
  retired: 'other',
  quarantined: 'other',
};

export class NativeProvider implements OnboardingProvider {
  readonly name = 'native';
  readonly #deps: NativeProviderDeps;
  readonly #cards: BmcCards;

  constructor(deps: NativeProviderDeps) {
    this.#deps = deps;
    this.#cards = new BmcCards(deps);
  }

  async observe(run: Onboarding, { explain }: ObserveOptions): Promise<Observations> {
    if (run.machine === null) return { machine: null, candidates: await this.#candidates(run), newMachines: [] };
    const machine = await this.#deps.store.machine(run.machine);
    if (machine === null || machine.lifecycle.state === 'removed') return NOTHING;
    const observed = await this.#observed(machine, explain);
    return {
      ...NOTHING,
      machine: observed,
      newMachines: observed.recognizable ? [] : await newMachines({ ...this.#deps, cards: this.#cards }, run, machine),
    };
  }

  async #observed(machine: Machine, explain: boolean): Promise<ObservedMachine> {
    const { id, spec, lifecycle, intent, health } = machine;
    const { state, since, failure } = lifecycle;
    const heartbeat = this.#deps.lastHeartbeat(id);
    return {
      stage: state === 'removed' ? 'other' : STAGES[state],
      detail: failure && state === 'failed' ? `failed (${failure.step}: ${failure.reason})` : state,
      recognizable: macsOf(spec).length > 0,
      work: intent?.kind === 'deploy' ? intent.id : null,
      failure:
        state === 'failed' || explain || (await this.#hasReportedFailure(machine))
          ? await this.#failure(machine)
          : null,
      missing: state === 'active' && health === 'silent' ? ['it has stopped sending heartbeats'] : [],
      reported: heartbeat !== null && heartbeat >= since,
    };
  }

  /** The first boot of the installed system failed, and says so. */
  async #hasReportedFailure({ id, lifecycle }: Machine): Promise<boolean> {
    if (lifecycle.state !== 'enrolling') return false;
    const query = { machine: id, kind: 'node-api.first-boot-failed', limit: 1, newest: true } as const;
    return (await this.#deps.store.events(query)).some(({ at }) => at >= lifecycle.since);
  }

  async #failure(machine: Machine): Promise<ClassifiedFailure | null> {
    const causes = await this.#deps.causes(machine);
    const { failure } = machine.lifecycle;
    if (failure === null && causes.length === 0) return null;
    const [session] = await this.#deps.store.sessionsOf(machine.id, 1);
    const step =
      session?.ended?.how === 'failed' ? (reportedStep(failure?.reason) ?? session.last?.step ?? null) : null;
    const found = classified({ causes, step, reason: failure?.reason ?? causes[0]?.reason ?? 'nothing is known' });
    // A system that never enrolled and gives no other sign failed at what it was doing.
    return found.class === 'unknown' && failedTo('enroll', machine.lifecycle)
      ? { ...found, class: 'enrollment' }
      : found;
  }

  /** The BMC is asked only when neither the host name nor its address is known. */
  async #candidates(run: Onboarding): Promise<readonly Candidate[]> {
    const { fleet } = this.#deps;
    const { request } = run;
    const named = [fleet.machineByHostname(request.hostname), fleet.machineByBmc(request.bmcAddress)];
    const known = [...new Set(named.flatMap((machine) => machine ?? []))];
    const { cards } = known.length > 0 ? NO_CARDS : await this.#cardsOf(run);
    const byMac = [...new Set(cards.flatMap(({ mac }) => fleet.machineByMac(mac) ?? []))];
    return [...known, ...byMac].map(({ id, spec }) => ({
      id,
      name: spec.hostname,
      hostname: spec.hostname,
      bmcAddress: spec.bmc?.address ?? null,
      pxeMac: known.length === 0,
    }));
  }

  /** Before its node exists. */
  #cardsOf(run: Onboarding): Promise<BmcAnswer> {
    return this.#cards.of(prospective(run, specOf(this.#deps, run, null), this.#deps.now()));
  }

  async act(run: Onboarding, doing: Doing, policy: OnboardingPolicy, id: string): Promise<ActionResult> {
    try {
      return await this.#acted(run, doing, policy, id);
    } catch (error) {
      if (!(error instanceof ColdironError)) throw error;
      if (MAY_SUCCEED_LATER.has(error.code)) return { ok: false, later: true, reason: error.message };
      const reason = error.details.length === 0 ? error.message : `${error.message}: ${error.details.join('; ')}`;
      return { ok: false, later: false, class: CLASS_OF_ACTION[doing.action] ?? 'unknown', reason };
    }
  }

  async #acted(
    run: Onboarding,
    { action, target }: Doing,
    policy: OnboardingPolicy,
    id: string,
  ): Promise<ActionResult> {
    const origin: Origin = { actor: run.requestedBy, correlationId: run.correlationId, commandId: id };
    switch (action) {
      case 'check-preflight':
        return refusedBy(
          await preflightProblems({ ...this.#deps, namesCard: () => this.#namesCard(run) }, run.request, policy),
        );
      case 'create': {
        const { cards } = await this.#cardsOf(run);
        const machine = await createNode(this.#deps, run, bootCard(this.#deps.fleet, run.request.site, cards));
        return { ok: true, machine, reference: machine };
      }
      case 'adopt': {
        const machine = target as MachineId;
        const problem = await adoptNode(this.#deps, run, machine);
        return problem === null ? { ok: true, machine, reference: machine } : refused('unknown', problem);
      }
      case 'claim': {
        const problem = await claimNode(this.#deps, run, this.#machine(run).id, target as MachineId);
        return problem === null ? { ok: true } : refused('unknown', problem);
      }
      case 'boot':
        return this.#boot(run, this.#machine(run), origin);
      case 'commission':
        await this.#deps.work.plain(this.#machine(run), 'commission', origin);
        return { ok: true };
      case 'check-predeploy':
        return refusedBy(await this.#deps.work.findings(this.#machine(run), run.request.profile));
      case 'deploy': {
        const { intent } = await this.#deps.work.deploy(this.#machine(run), run.request.profile, origin);
        return { ok: true, ...(intent && { work: intent.id }) };
      }
      case 'abort':
        await this.#deps.work.cancel(this.#machine(run), { ...origin, note: noteOf(run) });
        return { ok: true };
      case 'return-to-ready':
        await this.#deps.commands.request(this.#machine(run).id, 'mark-fixed', { ...origin, note: noteOf(run) });
        return { ok: true };
    }
  }

  /** One network boot. A second one tries UEFI, a third BIOS: some firmware ignores an override without a mode. */
  async #boot(run: Onboarding, machine: Machine, origin: Origin): Promise<ActionResult> {
    const firmware = [null, 'efi', 'legacy'][run.boots] as 'efi' | 'legacy' | null | undefined;
    const choice = { device: 'network', persistent: false, firmware: firmware ?? null } as const;
    const details = { action: 'cycle', device: 'network', firmware: choice.firmware };
    await this.#deps.bmc.act(machine, origin, { what: 'power', details }, async (bmc) => {
      await bmc.setBoot(choice);
      await bmc.powerCycle();
    });
    return { ok: true };
  }

  async #namesCard(run: Onboarding): Promise<boolean> {
    return bootCard(this.#deps.fleet, run.request.site, (await this.#cardsOf(run)).cards) !== null;
  }

  #machine({ machine }: Onboarding): Machine {
    const found = machine === null ? null : this.#deps.fleet.machineById(machine);
    if (found === null) throw new ColdironError('not_found', 'the node of the run does not exist any more');
    return found;
  }
}

const NO_CARDS: BmcAnswer = { cards: [], serial: null };
const NOTHING: Observations = { machine: null, candidates: [], newMachines: [] };

const MAY_SUCCEED_LATER: ReadonlySet<string> = new Set([
  'store_unavailable',
  'outcome_unknown',
  'version_conflict',
  'bmc_unreachable',
  'bmc_busy',
]);

/** What the refusal of an action is about, where the action says it. */
const CLASS_OF_ACTION: Readonly<Partial<Record<OnboardingAction, FailureClass>>> = { boot: 'bmc' };

const refused = (about: FailureClass, reason: string): ActionResult => ({
  ok: false,
  later: false,
  class: about,
  reason,
});

/** The class of the first finding that says more than `unknown`. */
function refusedBy(findings: readonly { readonly about: FailureClass; readonly problem: string }[]): ActionResult {
  if (findings.length === 0) return { ok: true };
  const about = findings.find((one) => one.about !== 'unknown')?.about ?? 'unknown';
  return refused(about, [...new Set(findings.map(({ problem }) => problem))].join('; '));
}

/** The reason of a failed session begins with the step that failed. */
const reportedStep = (reason: string | undefined): string | undefined =>
  /^([A-Za-z0-9][A-Za-z0-9._:-]{0,63}): /.exec(reason ?? '')?.[1];

const noteOf = ({ id, cancel, retry }: Onboarding): string =>
  cancel === null
    ? `onboarding ${id} tries again: ${retry?.failure.reason ?? 'it failed'}`
    : `onboarding ${id} was cancelled`;
