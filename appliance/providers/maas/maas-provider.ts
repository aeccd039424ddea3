// An existing MAAS as the provider of onboarding runs. Before each step the machine is read again: what an earlier request did, and whose
// answer was lost, is seen there and not done twice.

import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import { type Machine, type MachineId, macsOf } from '../../domain/machine.ts';
import {
  currentStep,
  type FailureClass,
  type Onboarding,
  type OnboardingAction,
  type OnboardingPolicy,
} from '../../domain/onboarding.ts';
import type { ClassifiedFailure } from '../../onboarding/classify-failure.ts';
import type { Candidate } from '../../onboarding/discovery-order.ts';
import type {
  ActionResult,
  Doing,
  Observations,
  ObservedMachine,
  ObserveOptions,
  OnboardingProvider,
} from '../../onboarding/provider.ts';
import type { NodeWork } from '../../provisioning/node-work.ts';
import type { Store } from '../../store/store.ts';
import { classifiedByMaas } from './classify-maas.ts';
import { type Evidence, EvidenceReader } from './evidence.ts';
import { deployInMaas, type MaasDeployDeps, type Unsettled } from './maas-deploy.ts';
import { MaasRejected, MaasUnavailable } from './maas-error.ts';
import { isSynced, type MaasMachine, STATUS } from './maas-machine.ts';
import { adoptFromMaas, createInMaas, type MaasNodeDeps } from './maas-node.ts';
import { type MaasPreflightDeps, maasPreflight } from './maas-preflight.ts';
import { releaseInMaas } from './maas-release.ts';
import { stageOf } from './maas-stage.ts';
import { preparePxeInterface } from './pxe-interface.ts';

export interface MaasProviderDeps
  extends Omit<MaasNodeDeps, 'evidence'>,
    Omit<MaasDeployDeps, 'evidence'>,
    Omit<MaasPreflightDeps, 'api'> {
  readonly store: Pick<Store, 'machine' | 'events' | 'appendEvents' | 'writeInventory' | 'changesSince'>;
  readonly work: Pick<NodeWork, 'cancel'>;
  readonly bundleProblems: (machine: Machine) => Promise<readonly string[]>;
  readonly lastHeartbeat: (machine: MachineId) => Instant | null;
}

/** Statuses whose failure MAAS explains. */
const FAILED: readonly number[] = [
  ...[STATUS.failedCommissioning, STATUS.failedTesting, STATUS.failedDeployment, STATUS.releasingFailed],
  ...[STATUS.failedDiskErasing, STATUS.new, STATUS.allocated],
];
const COMMISSIONING: readonly number[] = [STATUS.commissioning, STATUS.testing];
const ABORTABLE: readonly number[] = [STATUS.commissioning, STATUS.testing, STATUS.deploying, STATUS.diskErasing];

export class MaasProvider implements OnboardingProvider {
  readonly name = 'maas';
  readonly #deps: MaasProviderDeps;
  readonly #evidence: EvidenceReader;
  readonly #unsettled: Unsettled = new Map();

  constructor(deps: MaasProviderDeps) {
    this.#deps = deps;
    this.#evidence = new EvidenceReader(deps);
  }

  async observe(run: Onboarding, { explain }: ObserveOptions): Promise<Observations> {
    // Whether MAAS can be used at all is found out first, and by itself.
    if (currentStep(run)?.step === 'preflight') return NOTHING;
    if (run.reference === null || run.machine === null) {
      return { ...NOTHING, candidates: await this.#candidates(run) };
    }
    const node = await this.#deps.store.machine(run.machine);
    if (node === null || node.lifecycle.state === 'removed') return NOTHING;
    const machine = await this.#read(run.reference);
    if (machine === null) return NOTHING;
    const evidence = await this.#evidence.gather(run, node.id, machine);
    return { ...NOTHING, machine: await this.#observed(run, node, machine, evidence, explain) };
  }

  /** Null: MAAS no longer has it. */
  async #read(systemId: string): Promise<MaasMachine | null> {
    try {
      return await this.#deps.api.machine(systemId);
    } catch (error) {
      if (error instanceof MaasRejected && error.status === 404) return null;
      throw error;
    }
  }

  async #observed(
    run: Onboarding,
    node: Machine,
    machine: MaasMachine,
    evidence: Evidence,
    explain: boolean,
  ): Promise<ObservedMachine> {
    const { api, now, lastHeartbeat } = this.#deps;
    const isUnmarked = machine.status === STATUS.allocated && machine.work === null && run.doing === 'deploy';
    const { stage, detail } = stageOf(
      machine,
      node,
      isUnmarked && (await api.isAllocatedFor(machine.systemId, workId(run))),
    );
    const firstBoot = machine.status === STATUS.deployed ? await this.#firstBootFailure(node) : null;
    const heartbeat = lastHeartbeat(node.id);
    const unsynced = machine.sync !== null && !isSynced(machine.sync, now());
    const last = machine.sync?.last ?? null;
    const isFailed = firstBoot !== null && stage === 'enrolling';
    return {
      stage: isFailed ? 'failed' : stage,
      detail: isFailed ? `${detail}, its first boot failed` : detail,
      // Without a known card, MAAS recognizes it by its BMC.
      recognizable: machine.interfaces.length > 0 || machine.powerType !== '',
      work: machine.work,
      failure: firstBoot ?? this.#failure(node, machine, evidence, explain),
      missing: [
        ...(stage === 'active' && node.health === 'silent' ? ['it has stopped sending heartbeats'] : []),
        ...(stage === 'active' && unsynced
          ? [`MAAS has no recent hardware sync of it (the last: ${last === null ? 'never' : instantText(last)})`]
          : []),
      ],
      reported: heartbeat !== null && heartbeat >= node.lifecycle.since && machine.sync !== null && !unsynced,
    };
  }

  #failure(node: Machine, machine: MaasMachine, evidence: Evidence, explain: boolean): ClassifiedFailure | null {
    if (FAILED.includes(machine.status) || explain) {
      const found = classifiedByMaas(machine, evidence);
      if (found !== null) return found;
    }
    const { state, failure } = node.lifecycle;
    const isStuck = machine.status === STATUS.deployed && (state === 'failed' || (explain && state === 'enrolling'));
    if (!isStuck) return null;
    // MAAS says that it is deployed when its user-data was fetched: what follows fails without another status.
    const after = evidence.events.findLast(({ type }) => /post-installation failure/i.test(type));
    if (after)
      return {
        class: 'node-bootstrap',
        cause: 'maas-first-boot',
        reason: `MAAS: ${after.type} - ${after.description}`,
      };
    return { class: 'enrollment', cause: null, reason: failure?.reason ?? 'it is deployed, and has not enrolled' };
  }

  /** The first boot reports to the node API which part failed: the script of the site, or ours. */
  async #firstBootFailure({ id, lifecycle }: Machine): Promise<ClassifiedFailure | null> {
    const kind = 'node-api.first-boot-failed';
    const [last] = await this.#deps.store.events({ machine: id, kind, limit: 1, newest: true });
    if (last === undefined || last.at < lifecycle.since) return null;
    const { part, outcome, lines } = last.data as { part: string; outcome: string; lines: readonly string[] };
    const about: FailureClass = part.startsWith('site-bootstrap') ? 'site-bootstrap' : 'node-bootstrap';
    return {
      class: about,
      cause: 'first-boot-failed',
      reason: `${part} ${outcome}${lines.length > 0 ? `: ${lines.at(-1)}` : ''}`,
    };
  }

  /** By host name, by BMC address, and by the MAC addresses that are declared for the node here. */
  async #candidates({ request }: Onboarding): Promise<readonly Candidate[]> {
    const { api, fleet } = this.#deps;
    const declared = fleet.machineByHostname(request.hostname);
    const macs = declared ? macsOf(declared.spec).map((mac) => mac.toLowerCase()) : [];
    const atBmc = await api.machinesAtBmc(request.bmcAddress);
    const found = [
      ...(await api.machines('hostname', [request.hostname])),
      ...(await api.machines('id', atBmc)),
      ...(await api.machines('mac_address', macs)),
    ];
    const unique = [...new Map(found.map((one) => [one.systemId, one])).values()];
    return Promise.all(
      unique.map(async ({ systemId, hostname, interfaces }) => ({
        id: systemId,
        name: `${hostname} (${systemId})`,
        hostname,
        bmcAddress: atBmc.includes(systemId) ? request.bmcAddress : await api.bmcAddress(systemId),
        pxeMac: interfaces.some(({ mac }) => mac !== null && macs.some((one) => one === mac)),
      })),
    );
  }

  async act(run: Onboarding, doing: Doing, policy: OnboardingPolicy, id: string): Promise<ActionResult> {
    try {
      return await this.#acted(run, doing, policy, id);
    } catch (error) {
      if (error instanceof MaasUnavailable) return later(error.message);
      if (error instanceof MaasRejected) {
        // Somebody else was faster, or MAAS was: the next look decides.
        if (error.status === 409) return later(error.message);
        return refused(CLASS_OF_ACTION[doing.action] ?? 'unknown', `MAAS: ${error.message}`);
      }
      if (!(error instanceof ColdironError)) throw error;
      if (MAY_SUCCEED_LATER.has(error.code)) return later(error.message);
      const reason = error.details.length === 0 ? error.message : `${error.message}: ${error.details.join('; ')}`;
      return refused(CLASS_OF_CODE[error.code] ?? 'unknown', reason);
    }
  }

  async #acted(run: Onboarding, doing: Doing, policy: OnboardingPolicy, id: string): Promise<ActionResult> {
    const deps = { ...this.#deps, evidence: this.#evidence };
    const origin: Origin = { actor: run.requestedBy, correlationId: run.correlationId, commandId: id };
    switch (doing.action) {
      case 'check-preflight':
        return refusedBy(await maasPreflight(this.#deps, run.request, policy));
      case 'create':
        return createInMaas(deps, run, origin);
      case 'adopt':
        return adoptFromMaas(deps, run, doing.target ?? '', origin);
      case 'boot':
      case 'claim':
        return refused(
          'power',
          'MAAS knows neither a network card nor the BMC of the machine: set its power parameters there',
        );
      case 'commission':
        return this.#commission(run, policy);
      case 'check-predeploy':
        return this.#checkPredeploy(run, policy);
      case 'deploy':
        return this.#deploy(run, policy, id, origin);
      case 'abort':
        return this.#abort(run, origin);
      case 'return-to-ready':
        return this.#returnToReady(run, policy, origin);
    }
  }

  async #commission(run: Onboarding, { maas }: OnboardingPolicy): Promise<ActionResult> {
    const { api } = this.#deps;
    const { machine, node } = await this.#both(run);
    const { systemId } = machine;
    const isStarted = ({ status }: MaasMachine): boolean => COMMISSIONING.includes(status);
    if (isStarted(machine) || machine.status === STATUS.ready) return { ok: true };
    const before = (await this.#evidence.gather(run, node.id, machine)).events.at(-1)?.event_id ?? 0;
    await this.#asked(run, machine, 'commission', [
      `enable_ssh ${maas.enableSsh}`,
      `skip_bmc_config ${maas.skipBmcConfig}`,
    ]);
    try {
      await api.commission(systemId, maas);
      return { ok: true };
    } catch (error) {
      const after = await api.machine(systemId);
      if (isStarted(after) || after.status === STATUS.ready) return { ok: true };
      if (!(error instanceof MaasUnavailable)) throw error;
      const { events, results } = await this.#evidence.gather(run, node.id, after);
      const failure = classifiedByMaas(after, { events: events.filter((one) => one.event_id > before), results });
      return failure?.class === 'bmc' ? refused('bmc', failure.reason) : later(error.message);
    }
  }

  /** Also makes it deployable: its network card and its storage. Both may be repeated. */
  async #checkPredeploy(run: Onboarding, policy: OnboardingPolicy): Promise<ActionResult> {
    const { strictPxe, maas } = policy;
    const { api, bundleProblems } = this.#deps;
    const { machine, node } = await this.#both(run);
    // A run that is tried again by a person begins here, with what the last attempt left.
    if (machine.status !== STATUS.ready || machine.owner !== null) {
      return machine.work === null
        ? later(`it is ${machine.statusName} in MAAS`)
        : this.#released(run, machine, policy, null);
    }
    const network = await preparePxeInterface(api, machine, { strict: strictPxe });
    const bundle = (await bundleProblems(node)).map((problem) => `bootstrap bundle: ${problem}`);
    const result = refusedBy([
      ...network.map((problem) => ({ about: 'network' as const, problem })),
      ...bundle.map((problem) => ({ about: 'node-bootstrap' as const, problem })),
      ...(node.hardware.unerased ? [{ about: 'disk' as const, problem: 'its disks were not erased' }] : []),
    ]);
    if (result.ok && maas.storageLayout !== null) await api.setStorageLayout(machine.systemId, maas.storageLayout);
    return result;
  }

  async #deploy(run: Onboarding, policy: OnboardingPolicy, id: string, by: Origin): Promise<ActionResult> {
    const { machine, node } = await this.#both(run);
    const isOurs = machine.work !== null && machine.work !== id;
    // What an earlier attempt left is released first.
    if (isOurs && machine.status !== STATUS.deploying && machine.status !== STATUS.deployed) {
      const released = await this.#released(run, machine, policy, null);
      return released.ok ? later('it was released') : released;
    }
    const { distroSeries, hweKernel } = policy.maas;
    const details = [distroSeries ?? 'the default release', ...(hweKernel === null ? [] : [hweKernel]), `work ${id}`];
    if (machine.status === STATUS.ready) await this.#asked(run, machine, 'deploy', details);
    const evidence = (seen: MaasMachine) => this.#evidence.gather(run, node.id, seen);
    const origin = { ...by, commandId: undefined };
    return deployInMaas({ ...this.#deps, evidence }, machine, { run, policy, node, id, origin }, this.#unsettled);
  }

  async #abort(run: Onboarding, origin: Origin): Promise<ActionResult> {
    const { api } = this.#deps;
    const { machine } = await this.#both(run);
    const comment = commentOf(run);
    if (ABORTABLE.includes(machine.status)) {
      await this.#asked(run, machine, 'abort', [machine.statusName]);
      await api.abort(machine.systemId, comment);
      // The answer still shows the old status.
      const after = await api.machine(machine.systemId);
      if (ABORTABLE.includes(after.status)) return later(`MAAS has not stopped it yet: it is ${after.statusName}`);
      if (run.cancel !== null && after.work !== null) await api.release(after.systemId, 'none', comment);
    }
    await this.#cancelEnrollment(run, origin);
    return { ok: true };
  }

  async #returnToReady(run: Onboarding, policy: OnboardingPolicy, origin: Origin): Promise<ActionResult> {
    const { machine } = await this.#both(run);
    await this.#cancelEnrollment(run, origin);
    return this.#released(run, machine, policy, run.retry?.failure.at ?? null);
  }

  async #released(
    run: Onboarding,
    machine: MaasMachine,
    { maas }: OnboardingPolicy,
    since: Instant | null,
  ): Promise<ActionResult> {
    const { api, now, fleet } = this.#deps;
    const withoutErase = fleet.site(run.request.site)?.releaseWithoutErase ?? false;
    const { erase, eraseMinutes } = maas;
    const wanted = { erase, eraseMinutes, withoutErase, comment: commentOf(run) };
    const released = await releaseInMaas(api, machine, { ...wanted, since: since ?? now() }, now());
    if (released.kind === 'ready') return { ok: true };
    if (released.kind === 'waiting' && released.unerased !== undefined) {
      await this.#asked(run, machine, 'release it without erasing its disks', [released.unerased]);
    }
    return released.kind === 'waiting' ? later(released.reason) : refused(released.about, released.reason);
  }

  /** Its token is revoked: what an aborted attempt installed must not become the node. */
  async #cancelEnrollment(run: Onboarding, origin: Origin): Promise<void> {
    const { node } = await this.#node(run);
    if (node.lifecycle.state !== 'enrolling') return;
    await this.#deps.work.cancel(node, { ...origin, commandId: undefined, note: commentOf(run) });
  }

  async #node({ machine: id }: Onboarding): Promise<{ node: Machine }> {
    const node = id === null ? null : await this.#deps.store.machine(id);
    if (node === null) throw new ColdironError('not_found', 'the node of the run does not exist any more');
    return { node };
  }

  async #both(run: Onboarding): Promise<{ machine: MaasMachine; node: Machine }> {
    const { node } = await this.#node(run);
    return { node, machine: await this.#deps.api.machine(run.reference ?? '') };
  }

  async #asked(run: Onboarding, { systemId }: MaasMachine, action: string, details: readonly string[]): Promise<void> {
    const frame = {
      at: this.#deps.now(),
      actor: run.requestedBy,
      machine: run.machine,
      correlationId: run.correlationId,
    };
    const data = { onboarding: run.id, maas_system_id: systemId, action, details };
    await this.#deps.store.appendEvents([{ ...frame, kind: 'maas.asked', data }]);
  }
}

const NOTHING: Observations = { machine: null, candidates: [], newMachines: [] };

/** As the runner makes it (`actionId`). */
const workId = ({ id, attempt }: Onboarding): string => `${id}.${attempt}.deploy`;

const MAY_SUCCEED_LATER: ReadonlySet<string> = new Set(['store_unavailable', 'outcome_unknown', 'version_conflict']);

const CLASS_OF_ACTION: Readonly<Partial<Record<OnboardingAction, FailureClass>>> = { 'check-predeploy': 'network' };

const CLASS_OF_CODE: Readonly<Record<string, FailureClass>> = {
  invalid_bundle: 'node-bootstrap',
  bmc_login_failed: 'bmc',
  bmc_off_limits: 'bmc',
};

const later = (reason: string): ActionResult => ({ ok: false, later: true, reason });
const refused = (about: FailureClass, reason: string): ActionResult => ({
  ...{ ok: false, later: false },
  class: about,
  reason,
});

/** The class of the first finding that says more than `unknown`. */
function refusedBy(findings: readonly { readonly about: FailureClass; readonly problem: string }[]): ActionResult {
  if (findings.length === 0) return { ok: true };
  const about = findings.find((one) => one.about !== 'unknown')?.about ?? 'unknown';
  return refused(about, [...new Set(findings.map(({ problem }) => problem))].join('; '));
}

const commentOf = ({ id, cancel, retry }: Onboarding): string =>
  cancel === null
    ? `Coldiron onboarding ${id} tries again: ${retry?.failure.class ?? 'it failed'}`
    : `Coldiron onboarding ${id} was cancelled`;
