// Deploys a machine through MAAS once, whatever gets lost: it is allocated, marked with the id of the work, and then deployed. The mark is in
// MAAS, so that a repetition sees what the first one did.

import type { Origin } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { FailureClass, Onboarding, OnboardingPolicy } from '../../domain/onboarding.ts';
import type { SiteBootstrap } from '../../domain/system.ts';
import type { ActionResult } from '../../onboarding/provider.ts';
import { type BootPart, firstBoot } from '../../render/installers/first-boot.ts';
import type { Templates } from '../../render/templates.ts';
import { classifiedByMaas } from './classify-maas.ts';
import type { Evidence } from './evidence.ts';
import type { MaasApi } from './maas-api.ts';
import { MaasRejected, MaasUnavailable } from './maas-error.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';
import { composeUserData, MOST_USER_DATA } from './user-data.ts';

export interface MaasDeployDeps {
  readonly api: MaasApi;
  readonly templates: Templates;
  readonly siteBootstrap: (machine: Machine) => SiteBootstrap | null;
  /** The parts that make it a node, with a new token. Its enrollment begins. */
  readonly startFirstBoot: (machine: Machine, minutes: number, origin: Origin) => Promise<readonly BootPart[]>;
  readonly evidence: (machine: MaasMachine) => Promise<Evidence>;
  /** How long MAAS may need for one answer. */
  readonly timeout: Instant;
  readonly now: () => Instant;
}

export interface Work {
  readonly run: Onboarding;
  readonly policy: OnboardingPolicy;
  readonly node: Machine;
  readonly id: string;
  readonly origin: Origin;
}

/** After the time that MAAS has for the deployment, the node gets as long as a run waits for it. */
const MINUTES_AFTER = 35;

const STARTED: readonly number[] = [STATUS.deploying, STATUS.deployed, STATUS.failedDeployment];

/** When the last answer of MAAS to a deployment was lost: it may still begin. */
export type Unsettled = Map<string, Instant>;

export async function deployInMaas(
  deps: MaasDeployDeps,
  machine: MaasMachine,
  work: Work,
  unsettled: Unsettled,
): Promise<ActionResult> {
  const { api } = deps;
  const { systemId } = machine;
  const done: ActionResult = { ok: true, work: work.id };
  const isStarted = (one: MaasMachine): boolean => one.work === work.id && STARTED.includes(one.status);
  if (isStarted(machine)) return done;
  let held = machine;
  if (held.status === STATUS.ready) {
    if (held.owner !== null) return later('MAAS has not released it yet');
    await quietly(() => api.allocate(systemId, work.id, `Coldiron onboarding ${work.run.id}`));
    held = await api.machine(systemId);
  }
  if (held.status !== STATUS.allocated) return refused('unknown', `it is ${held.statusName} in MAAS`);
  if (held.work !== work.id) {
    if (!(await api.isAllocatedFor(systemId, work.id)))
      return refused('unknown', `it is allocated in MAAS to ${held.owner}`);
    await api.annotate(systemId, work.id);
    held = await api.machine(systemId);
    if (held.work !== work.id) return later('MAAS has not marked it yet');
  }
  const lost = unsettled.get(systemId) ?? null;
  if (lost !== null && deps.now() - lost < deps.timeout) return later('MAAS has not answered whether it deploys it');
  const userData = await userDataOf(deps, work);
  if (userData.length > MOST_USER_DATA)
    return refused('node-bootstrap', `its user-data is too large for MAAS: ${userData.length} bytes`);
  const { distroSeries: series, hweKernel: kernel } = work.policy.maas;
  const { hardwareSync } = work.policy;
  try {
    await api.deploy(systemId, { userData, series, kernel, hardwareSync, work: work.id });
    unsettled.delete(systemId);
    return done;
  } catch (error) {
    const after = await api.machine(systemId);
    if (isStarted(after)) return done;
    if (error instanceof MaasRejected) return rejected(api, after, error);
    if (!(error instanceof MaasUnavailable)) throw error;
    unsettled.set(systemId, deps.now());
    // Before 3.6 MAAS switches the machine on before it answers, and returns it when that fails.
    const failure = classifiedByMaas(after, await deps.evidence(after));
    return failure?.class === 'bmc' ? refused('bmc', failure.reason) : later(error.message);
  }
}

async function userDataOf({ startFirstBoot, siteBootstrap, templates }: MaasDeployDeps, work: Work): Promise<string> {
  const { node, policy, id, origin } = work;
  const nodeParts = await startFirstBoot(node, policy.deployMinutes + MINUTES_AFTER, origin);
  return composeUserData(firstBoot({ siteBootstrap: siteBootstrap(node) }, { instanceId: id, nodeParts }, templates));
}

/** A machine that was allocated for nothing must not stay so. */
async function rejected(api: MaasApi, { systemId, status }: MaasMachine, error: MaasRejected): Promise<ActionResult> {
  if (status === STATUS.allocated)
    await quietly(() => api.release(systemId, 'none', 'Coldiron: it cannot be deployed'));
  const about = CLASS_OF_FIELD.find(([field]) => error.fields.includes(field))?.[1] ?? classOfText(error.message);
  return refused(about, `MAAS does not deploy it: ${error.message}`);
}

const CLASS_OF_FIELD: readonly (readonly [string, FailureClass])[] = [
  ['network', 'network'],
  ['storage', 'disk'],
  ['distro_series', 'image'],
  ['hwe_kernel', 'image'],
];

const classOfText = (text: string): FailureClass => (/preseed|image|kernel/i.test(text) ? 'image' : 'unknown');

async function quietly(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof MaasUnavailable || error instanceof MaasRejected)) throw error;
  }
}

const later = (reason: string): ActionResult => ({ ok: false, later: true, reason });
const refused = (about: FailureClass, reason: string): ActionResult => ({
  ok: false,
  later: false,
  class: about,
  reason,
});
