// Everything that would stop a deployment later, checked before it begins. All reasons at once; an empty list permits it.

import type { BootContract } from '../assets/boot-contract.ts';
import { type BootImage, imageFor, imagePath, type RequiredImage } from '../boot/boot-images.ts';
import { type BootServer, bootUrl, machineScriptPath } from '../boot/boot-paths.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Machine } from '../domain/machine.ts';
import { macsOf } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { FailureClass } from '../domain/onboarding.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { unerasedProblems } from '../machines/commands/unerased.ts';
import { step } from '../machines/step.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';
import type { NodePlan } from '../render/node-plan.ts';
import { type ApplianceGuardDeps, blockingProblems, loaderProblems } from './appliance-guards.ts';
import { type CheckedCable, cablingProblems } from './cabling.ts';
import { diskProblems } from './disk-problems.ts';
import { identityProblems } from './identity-problems.ts';
import { imageDisk, installProblems } from './orders/order.ts';
import { type FindAsset, servedImage } from './orders/served-image.ts';
import type { WorkOrders } from './orders/work-orders.ts';
import { roceProblems } from './roce-problems.ts';

/** The result of a HEAD request; a reason when it failed. */
export type Fetchable = (url: string) => Promise<Parsed<{ readonly bytes: number | null }>>;

export interface GuardDeps extends ApplianceGuardDeps {
  readonly fleet: Pick<Fleet, 'network' | 'profile' | 'roceOf'>;
  readonly orders: Pick<WorkOrders, 'plan' | 'seed'>;
  readonly find: FindAsset;
  readonly images: { find(required: RequiredImage): Parsed<BootImage> };
  /** Reads the boot files again: they may have been built a moment ago. */
  readonly readFiles: () => Promise<void>;
  readonly bootContract: () => Promise<BootContract>;
  readonly bootPort: () => number;
  readonly fetchable: Fetchable;
  /** Problems of the bundle of a node that enrolls at its first boot: authority, token, endpoint. Empty: none. */
  readonly bundleProblems: (machine: Machine) => Promise<readonly string[]>;
  /** Why its BMC could not power it on. Empty: it could, or power is manual. */
  readonly bmcProblems: (machine: Machine) => Promise<readonly string[]>;
  /** Why its BMC has no drive for a medium; null: it may have one. */
  readonly driveProblem: (machine: Machine) => string | null;
  /** The inspection of the machine; null: never inspected. */
  readonly inspection: (machine: Machine) => Promise<Inspection | null>;
  /** Its cables, as its sessions reported them. */
  readonly cabling: (machine: Machine) => Promise<readonly CheckedCable[]>;
  /** What it lacks that its SKU requires, by its last report. */
  readonly skuProblems: (machine: Machine) => Promise<readonly string[]>;
  /** Sessions use the node API, which is encrypted. */
  readonly hasNodeApi: () => boolean;
  /** Why this appliance cannot install NixOS itself. Empty: it can. */
  readonly pushProblems: () => Promise<readonly string[]>;
  readonly now: () => number;
}

export interface Deployment {
  readonly machine: Machine;
  readonly profile: ObjectName;
}

/** A reason against a deployment, and what it is about. */
export interface GuardFinding {
  readonly about: FailureClass;
  readonly problem: string;
}

export const deployProblems = async (deps: GuardDeps, deployment: Deployment): Promise<string[]> =>
  (await deployFindings(deps, deployment)).map(({ problem }) => problem);

export async function deployFindings(
  deps: GuardDeps,
  { machine, profile }: Deployment,
): Promise<readonly GuardFinding[]> {
  await deps.readFiles();
  const life = step(machine.lifecycle, 'deploy', { now: deps.now(), profileDeployMinutes: null });
  const plan = deps.orders.plan(machine, profile);
  const server = bootServer(deps, machine);
  const findings: GuardFinding[] = [];
  const found = (about: FailureClass, problems: readonly string[]): void => {
    findings.push(...problems.map((problem) => ({ about, problem })));
  };
  found('unknown', [...(life.moved ? [] : [life.reason]), ...blockingProblems(deps)]);
  found('disk', unerasedProblems(machine));
  found('image', await firmwareProblems(deps, machine));
  found('unknown', profileProblems(deps, machine, profile));
  found('unknown', await identityProblemsOf(deps, machine, profile));
  found('network', roceProblems(deps.fleet, deps.fleet.profile(profile), machine.spec));
  found('network', await cablingProblemsOf(deps, machine, profile));
  found('unknown', await deps.skuProblems(machine));
  if (macsOf(machine.spec).length === 0) found('network', ['it has no MAC address, so nothing can be armed for it']);
  if (!plan.ok) found('unknown', plan.reason.split('; '));
  else {
    found('unknown', installProblems(plan.value));
    found('datasource', seedProblems(deps, plan.value));
  }
  if (!server.ok) found('network', [server.reason]);
  else found('image', await servedProblems(deps, machine, server.value, plan.ok ? plan.value : null));
  const contract = (await deps.bootContract()).problems.map((problem) => `boot files: ${problem}`);
  found('image', contract);
  if (plan.ok) found('node-bootstrap', await enrollmentProblems(deps, machine, plan.value));
  found('bmc', await deps.bmcProblems(machine));
  if (plan.ok) found('disk', await diskProblemsOf(deps, machine, plan.value, server));
  if (deps.fleet.profile(profile)?.install === 'push') found('unknown', await deps.pushProblems());
  return findings;
}

/** Why its firmware would be offered no boot file. */
export const firmwareProblems = async (
  deps: Pick<GuardDeps, 'fleet' | 'loaderAvailable' | 'inspection'>,
  machine: Machine,
): Promise<string[]> =>
  loaderProblems(deps, machine, bootNetworks(deps, machine), (await deps.inspection(machine))?.firmware ?? null);

/** A system that cannot enroll never becomes a node; its deployment would fail at the deadline. */
async function enrollmentProblems(
  { bundleProblems }: GuardDeps,
  machine: Machine,
  { enrollment, profile }: NodePlan,
): Promise<string[]> {
  if (enrollment === null) return [noEnrollment(profile.name)];
  if (enrollment === 'manual') return [];
  return (await bundleProblems(machine)).map((problem) => `bootstrap bundle: ${problem}`);
}

export const noEnrollment = (profile: string): string =>
  `neither it nor its profile ${profile} says how it enrolls: set enrollment: first-boot, or enrollment: manual if its bundle is ` +
  'installed by hand (coldiron token issue)';

const bootNetworks = ({ fleet }: Pick<GuardDeps, 'fleet'>, { spec }: Pick<Machine, 'spec'>): SiteNetwork[] =>
  spec.interfaces.flatMap(({ mac, network }) => (mac === null ? [] : (fleet.network(network) ?? [])));

/** The appliance as this machine reaches it when it boots. */
function bootServer({ fleet, bootPort }: Pick<GuardDeps, 'fleet' | 'bootPort'>, { spec }: Machine): Parsed<BootServer> {
  const address = bootNetworks({ fleet }, { spec }).find(({ server }) => server !== null)?.server;
  if (address) return { ok: true, value: { address, bootPort: bootPort() } };
  return {
    ok: false,
    reason: 'no network of its cards with a MAC address names this appliance (server:)',
  };
}

function profileProblems({ fleet }: GuardDeps, { spec }: Machine, name: ObjectName): string[] {
  const profile = fleet.profile(name);
  // The plan reports a profile that is unknown, or for another architecture.
  if (!profile) return [];
  const { skus, active } = profile;
  return [
    ...(active ? [] : [`its profile ${name} is not active`]),
    ...(skus.length > 0 && (spec.sku === null || !skus.includes(spec.sku))
      ? [`its profile ${name} is for ${skus.join(', ')}, and it is ${spec.sku ?? 'of no SKU'}`]
      : []),
  ];
}

/** What the machine could not prove when it opens its session. */
async function identityProblemsOf(deps: GuardDeps, machine: Machine, profile: ObjectName): Promise<string[]> {
  const required = deps.fleet.profile(profile)?.identity ?? 'asserted';
  const inspected = (await deps.inspection(machine)) !== null;
  const hasNodeApi = deps.hasNodeApi();
  return identityProblems({
    machine,
    profile,
    required,
    inspected,
    hasNodeApi,
    driveProblem: deps.driveProblem(machine),
  });
}

/** By its last reports; the service OS looks again before it writes. */
async function cablingProblemsOf({ fleet, cabling }: GuardDeps, machine: Machine, name: ObjectName): Promise<string[]> {
  if (fleet.profile(name)?.cabling !== 'require') return [];
  return cablingProblems(name, await cabling(machine)).map((problem) => `${problem}; then commission it again`);
}

/** Renders every file for the disk, before the disk is wiped for them. */
function seedProblems({ orders }: GuardDeps, plan: NodePlan): string[] {
  if (plan.profile.kind !== 'cloud-image') return [];
  try {
    orders.seed(plan, 'rehearsal', []);
    return [];
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    return error.details.length > 0 ? [...error.details] : [error.message];
  }
}

/** Another check reports problems of the image itself. */
async function diskProblemsOf(
  { inspection, find }: GuardDeps,
  machine: Machine,
  plan: NodePlan,
  server: Parsed<BootServer>,
): Promise<string[]> {
  const { profile, storage } = plan;
  if (profile.kind === 'nixos') {
    return storage === null ? [] : diskProblems(plan, storage.disks, await inspection(machine));
  }
  const image = profile.image && server.ok ? servedImage(profile.image, server.value, find) : null;
  return image?.ok ? diskProblems(plan, [imageDisk(plan, image.value)], await inspection(machine)) : [];
}

/** Checks the real server at the address that the machine will use, not the library. */
async function servedProblems(
  deps: GuardDeps,
  machine: Machine,
  server: BootServer,
  plan: NodePlan | null,
): Promise<string[]> {
  const health = bootUrl(server, '/health');
  const reached = await deps.fetchable(health);
  if (!reached.ok)
    return [`the appliance does not answer at the URL that the machine will use, ${health}: ${reached.reason}`];
  const problems: string[] = [];
  const expect = async (what: string, url: string, bytes: number | null): Promise<void> => {
    const answer = await deps.fetchable(url);
    if (!answer.ok) problems.push(`${what} cannot be fetched from ${url}: ${answer.reason}`);
    else if (bytes !== null && answer.value.bytes !== bytes) {
      problems.push(`${what} has ${answer.value.bytes} bytes at ${url}, but ${bytes} in the library`);
    }
  };
  const [mac] = macsOf(machine.spec);
  if (mac) await expect('its boot script', bootUrl(server, machineScriptPath(mac)), null);
  if (plan === null) return problems;

  const required = imageFor({ kind: 'installer' }, plan.architecture, plan.profile);
  const started = deps.images.find(required);
  if (!started.ok) problems.push(`it would start ${started.reason}, which is not on this appliance`);
  else {
    for (const name of [started.value.kernel, started.value.initrd]) {
      await expect(name, bootUrl(server, imagePath(name)), deps.find(name)?.size ?? null);
    }
  }
  if (plan.profile.image !== null) {
    const image = servedImage(plan.profile.image, server, deps.find);
    if (image.ok) await expect('its image', image.value.url, image.value.bytes);
    else problems.push(image.reason);
  }
  return problems;
}
