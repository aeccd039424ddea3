// Everything that would stop a deployment later, checked before it begins. All reasons at once; an empty list permits it.

import type { BootContract } from '../assets/boot-contract.ts';
import { type BootImage, imageFor, imagePath, type RequiredImage } from '../boot/boot-images.ts';
import { type BootServer, bootUrl, machineScriptPath } from '../boot/boot-paths.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Machine } from '../domain/machine.ts';
import { macsOf } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { step } from '../machines/step.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';
import type { NodePlan } from '../render/node-plan.ts';
import { type ApplianceGuardDeps, blockingProblems, loaderProblems } from './appliance-guards.ts';
import { type CheckedCable, cablingProblems } from './cabling.ts';
import { diskProblems } from './disk-problems.ts';
import { imageDisk, installProblems } from './orders/order.ts';
import { type FindAsset, servedImage } from './orders/served-image.ts';
import type { WorkOrders } from './orders/work-orders.ts';

/** The result of a HEAD request; a reason when it failed. */
export type Fetchable = (url: string) => Promise<Parsed<{ readonly bytes: number | null }>>;

export interface GuardDeps extends ApplianceGuardDeps {
  readonly fleet: Pick<Fleet, 'network' | 'profile'>;
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
  /** The inspection of the machine; null: never inspected. */
  readonly inspection: (machine: Machine) => Promise<Inspection | null>;
  /** Its cables, as its sessions reported them. */
  readonly cabling: (machine: Machine) => Promise<readonly CheckedCable[]>;
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

export async function deployProblems(deps: GuardDeps, { machine, profile }: Deployment): Promise<string[]> {
  await deps.readFiles();
  const life = step(machine.lifecycle, 'deploy', { now: deps.now(), profileDeployMinutes: null });
  const plan = deps.orders.plan(machine, profile);
  const server = bootServer(deps, machine);
  return [
    ...(life.moved ? [] : [life.reason]),
    ...blockingProblems(deps),
    ...(await firmwareProblems(deps, machine)),
    ...profileProblems(deps, machine, profile),
    ...(await identityProblems(deps, machine, profile)),
    ...(await cablingProblemsOf(deps, machine, profile)),
    ...(macsOf(machine.spec).length === 0 ? ['it has no MAC address, so nothing can be armed for it'] : []),
    ...(plan.ok ? [...installProblems(plan.value), ...seedProblems(deps, plan.value)] : plan.reason.split('; ')),
    ...(server.ok ? await servedProblems(deps, machine, server.value, plan.ok ? plan.value : null) : [server.reason]),
    ...(await deps.bootContract()).problems.map((problem) => `boot files: ${problem}`),
    ...(plan.ok ? await enrollmentProblems(deps, machine, plan.value) : []),
    ...(await deps.bmcProblems(machine)),
    ...(plan.ok ? await diskProblemsOf(deps, machine, plan.value, server) : []),
    ...(deps.fleet.profile(profile)?.install === 'push' ? await deps.pushProblems() : []),
  ];
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
async function identityProblems(
  { fleet, hasNodeApi, inspection }: GuardDeps,
  machine: Machine,
  name: ObjectName,
): Promise<string[]> {
  const identity = fleet.profile(name)?.identity ?? 'asserted';
  if (identity === 'asserted') return [];
  const { hardware, spec } = machine;
  // Facts of an older version are as good as the record.
  const isRecorded = hardware.bound !== null || (await inspection(machine)) !== null;
  const unrecorded = isRecorded ? [] : ['its hardware was never recorded: commission it first'];
  if (identity === 'bound') return unrecorded;
  const rule = `profile ${name} requires a TPM (identity: tpm)`;
  const tpm = hardware.bound?.tpm ?? null;
  return [
    ...unrecorded,
    ...(hasNodeApi() ? [] : [`${rule}, and sessions are not encrypted: set listen.node in the site file`]),
    ...(isRecorded && tpm === null
      ? [
          `${rule}, and it showed none when it was commissioned: switch it on in the firmware setup, commission it again`,
        ]
      : []),
    ...(tpm?.trust === 'nobody' && spec.tpm.length === 0
      ? [`${rule}, and nobody has accepted its TPM yet: coldiron nodes rebind ${spec.hostname}`]
      : []),
  ];
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
