// Coldiron itself as the provider of onboarding runs: nodes of the inventory, their lifecycle, and their BMCs. Commands carry the id of the
// run's action, so that the store executes each once.

import type { BmcService } from '../../bmc/access/bmc-service.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { failedTo, type LifecycleState } from '../../domain/lifecycle.ts';
import { type Machine, type MachineId, macsOf } from '../../domain/machine.ts';
import type { FailureClass, Onboarding, OnboardingAction, OnboardingPolicy } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import { type ClassifiedFailure, classified, type FoundCause } from '../../onboarding/classify-failure.ts';
import type { Candidate, NewMachine } from '../../onboarding/discovery-order.ts';
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
import { shownBy } from '../../provisioning/shown-by.ts';
import type { Store } from '../../store/store.ts';
import { adoptNode, claimNode, createNode, type NodeWritesDeps } from './node-writes.ts';
import { type PreflightDeps, preflightProblems } from './preflight.ts';

export interface NativeProviderDeps extends NodeWritesDeps, PreflightDeps {
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

/** The BMC is asked who it belongs to this often: it answers slowly, and the answer does not change. */
const ASK_AGAIN_AFTER = 5 * MINUTE;
const MOST_NEW = 50;

export class NativeProvider implements OnboardingProvider {
  readonly name = 'native';
  readonly #deps: NativeProviderDeps;
  readonly #serials = new Map<MachineId, { readonly at: Instant; readonly serial: string | null }>();

  constructor(deps: NativeProviderDeps) {
    this.#deps = deps;
  }

  async observe(run: Onboarding, { explain }: ObserveOptions): Promise<Observations> {
    if (run.machine === null) return { machine: null, candidates: this.#candidates(run), newMachines: [] };
    const machine = await this.#deps.store.machine(run.machine);
    if (machine === null || machine.lifecycle.state === 'removed') return NOTHING;
    const observed = await this.#observed(machine, explain);
    return { ...NOTHING, machine: observed, newMachines: observed.recognizable ? [] : await this.#new(run, machine) };
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
      failure: state === 'failed' || explain ? await this.#failure(machine) : null,
      missing: state === 'active' && health === 'silent' ? ['it has stopped sending heartbeats'] : [],
      reported: heartbeat !== null && heartbeat >= since,
    };
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

  #candidates({ request }: Onboarding): readonly Candidate[] {
    const { fleet } = this.#deps;
    const found = [fleet.machineByHostname(request.hostname), fleet.machineByBmc(request.bmcAddress)];
    return [...new Set(found.flatMap((machine) => machine ?? []))].map(({ id, spec }) => ({
      id,
      name: spec.hostname,
      hostname: spec.hostname,
      bmcAddress: spec.bmc?.address ?? null,
      pxeMac: false,
    }));
  }

  /** Undeclared machines on the networks of the site that were heard of since the network boot. */
  async #new(run: Onboarding, machine: Machine): Promise<readonly NewMachine[]> {
    const { fleet, store } = this.#deps;
    const { bootedAt } = run;
    if (bootedAt === null) return [];
    const strangers = [...fleet.machines()].filter(
      ({ lifecycle, spec }) => lifecycle.state === 'discovered' && spec.site === run.request.site,
    );
    const found = await Promise.all(
      strangers.slice(-MOST_NEW).map(async (one): Promise<NewMachine | null> => {
        const [last] = await store.events({ machine: one.id, limit: 1, newest: true });
        if (last === undefined || last.at < bootedAt) return null;
        const firstSeen = Math.max(bootedAt, one.lifecycle.since);
        const name = `${one.spec.hostname} (${macsOf(one.spec).join(', ')})`;
        return { id: one.id, name, firstSeen, identity: await this.#identityOf(one, machine) };
      }),
    );
    return found.flatMap((one) => one ?? []);
  }

  /** By the BMC address that its service OS read, or by the serial number that its BMC knows. */
  async #identityOf(stranger: Machine, machine: Machine): Promise<NewMachine['identity']> {
    const { store } = this.#deps;
    const [newest] = await store.factsOf(stranger.id);
    const address = bmcAddressIn(newest?.facts);
    if (address !== null) return address === machine.spec.bmc?.address ? 'same' : 'other';
    const serial = await this.#serialOf(machine);
    if (serial === null) return 'unknown';
    const shown = (await shownBy(store, stranger)).serial;
    if (shown === null) return 'unknown';
    return shown.trim().toLowerCase() === serial.trim().toLowerCase() ? 'same' : 'other';
  }

  async #serialOf(machine: Machine): Promise<string | null> {
    const { bmc, now } = this.#deps;
    const known = this.#serials.get(machine.id);
    if (known && now() - known.at < ASK_AGAIN_AFTER) return known.serial;
    const answer = await bmc.ask(machine, (one) => one.identity()).catch(() => null);
    const serial = answer?.mode === 'real' ? answer.result.serial : null;
    this.#serials.set(machine.id, { at: now(), serial });
    return serial;
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
        return refusedBy(await preflightProblems(this.#deps, run.request, policy));
      case 'create': {
        const machine = await createNode(this.#deps, run);
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

  #machine({ machine }: Onboarding): Machine {
    const found = machine === null ? null : this.#deps.fleet.machineById(machine);
    if (found === null) throw new ColdironError('not_found', 'the node of the run does not exist any more');
    return found;
  }
}

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

function bmcAddressIn(facts: unknown): string | null {
  const bmc = (facts as { readonly bmc?: { readonly address?: unknown } | null } | null | undefined)?.bmc;
  const address = bmc?.address;
  return typeof address === 'string' && address !== '' && address !== '0.0.0.0' ? address : null;
}
