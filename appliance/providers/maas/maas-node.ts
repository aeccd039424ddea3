// The node of a run through MAAS: found or created here, and linked to its machine in MAAS. Both are looked up before anything is written, so
// that a repetition continues where the first one stopped.

import type { CpuArchitecture } from '../../domain/architecture.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import { failedTo, type Lifecycle } from '../../domain/lifecycle.ts';
import { type Machine, type MachineId, macsOf } from '../../domain/machine.ts';
import type { Onboarding } from '../../domain/onboarding.ts';
import { linkedToMaas } from '../../machines/commands/maas-link.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import type { ActionResult } from '../../onboarding/provider.ts';
import { adoptNode, createNode, type NodeWritesDeps } from '../native/node-writes.ts';
import type { EvidenceReader } from './evidence.ts';
import type { MaasApi, PowerParameters } from './maas-api.ts';
import { MaasUnavailable } from './maas-error.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';

export interface MaasNodeDeps extends NodeWritesDeps {
  readonly api: MaasApi;
  readonly evidence: Pick<EvidenceReader, 'lastEvent'>;
  readonly commands: Pick<MachineCommands, 'mustExecute'>;
  /** The login that MAAS gets to control the power of this machine. */
  readonly bmcLogin: (machine: Machine) => Promise<{ readonly username: string; readonly password: Revealed }>;
}

interface Revealed {
  reveal(): Uint8Array;
}

/** Statuses in which MAAS lets a host name and power parameters be changed without harm. */
const UNUSED: readonly number[] = [STATUS.new, STATUS.failedCommissioning, STATUS.ready, STATUS.failedTesting];

const ARCHITECTURES: Readonly<Partial<Record<CpuArchitecture, string>>> = {
  x86_64: 'amd64/generic',
  i386: 'i386/generic',
  arm64: 'arm64/generic',
  arm32: 'armhf/generic',
};

export async function createInMaas(deps: MaasNodeDeps, run: Onboarding, origin: Origin): Promise<ActionResult> {
  const node = await ensureNode(deps, run);
  if (typeof node === 'string') return refusal(node);
  const { hostname, architecture } = node.spec;
  const named = ARCHITECTURES[architecture];
  if (named === undefined) return refusal(`MAAS does not provision machines of the architecture ${architecture}`);
  const power = await powerOf(deps, node);
  try {
    await deps.api.create({ hostname, architecture: named, macs: macsOf(node.spec), power });
  } catch (error) {
    // It may exist all the same: then it is found by its host name.
    if (!(error instanceof MaasUnavailable)) throw error;
    if ((await deps.api.machines('hostname', [hostname])).length !== 1) throw error;
  }
  const [created, ...others] = await deps.api.machines('hostname', [hostname]);
  if (created === undefined || others.length > 0) {
    return { ok: false, later: true, reason: `MAAS does not show the machine ${hostname} that was created` };
  }
  return link(deps, node, created, 'created', run, origin);
}

export async function adoptFromMaas(
  deps: MaasNodeDeps,
  run: Onboarding,
  systemId: string,
  origin: Origin,
): Promise<ActionResult> {
  const machine = await deps.api.machine(systemId);
  const node = await ensureNode(deps, run);
  if (typeof node === 'string') return refusal(node);
  const other = [...deps.fleet.machines()].find(
    (one) => one.hardware.maas?.systemId === systemId && one.id !== node.id && one.lifecycle.state !== 'removed',
  );
  if (other) return refusal(`machine ${systemId} of MAAS is the node ${other.spec.hostname} already`);
  if (machine.locked) return refusal(`machine ${systemId} is locked in MAAS`);
  if (UNUSED.includes(machine.status)) {
    if (machine.powerType === '') await deps.api.setPower(systemId, await powerOf(deps, node));
    if (machine.hostname !== node.spec.hostname) await deps.api.setHostname(systemId, node.spec.hostname);
  }
  return link(deps, node, machine, 'found', run, origin);
}

async function link(
  { evidence, commands }: MaasNodeDeps,
  { id }: Machine,
  { systemId, hostname: name }: MaasMachine,
  how: 'created' | 'found',
  run: Onboarding,
  by: Origin,
): Promise<ActionResult> {
  const lastEvent = how === 'created' ? 0 : await evidence.lastEvent(systemId);
  // Not the id of the action: whether it is done is seen from the node.
  const origin = { ...by, commandId: undefined };
  await commands.mustExecute(
    { machine: id, name: 'link-to-maas', input: { system_id: systemId }, origin },
    (known, context) => linkedToMaas(known, { systemId, name, how, lastEvent, onboarding: run.id, origin }, context),
  );
  return { ok: true, machine: id, reference: systemId };
}

/** A reason when the node here cannot be used for this run. */
async function ensureNode(deps: MaasNodeDeps, run: Onboarding): Promise<Machine | string> {
  const { fleet } = deps;
  const { hostname, bmcAddress } = run.request;
  const byName = fleet.machineByHostname(hostname);
  const byBmc = fleet.machineByBmc(bmcAddress);
  if (byBmc && byBmc.id !== byName?.id) return `the BMC ${bmcAddress} belongs to the node ${byBmc.spec.hostname}`;
  if (byName === null) return mustBeThere(deps, await createNode(deps, run, null));
  if (!isUsable(byName.lifecycle)) {
    return `${hostname} is ${byName.lifecycle.state} here: only a node that is registered is provisioned by MAAS`;
  }
  const declared = byName.spec.bmc?.address;
  if (declared !== undefined && declared !== bmcAddress)
    return `${hostname} has the BMC ${declared}, not ${bmcAddress}`;
  const problem = await adoptNode(deps, run, byName.id);
  return problem ?? mustBeThere(deps, byName.id);
}

const isUsable = (lifecycle: Lifecycle): boolean =>
  ['discovered', 'registered', 'enrolling'].includes(lifecycle.state) || failedTo('enroll', lifecycle);

function mustBeThere({ fleet }: MaasNodeDeps, id: MachineId): Machine {
  const machine = fleet.machineById(id);
  if (machine === null) throw new ColdironError('not_found', 'the node of the run does not exist any more');
  return machine;
}

/** The password leaves the appliance only in the body of the request that sets it. */
async function powerOf({ bmcLogin }: MaasNodeDeps, node: Machine): Promise<PowerParameters> {
  const { username, password } = await bmcLogin(node);
  const address = node.spec.bmc?.address ?? '';
  const type = node.spec.bmc?.driver === 'redfish' ? 'redfish' : 'ipmi';
  const secret = new TextDecoder().decode(password.reveal());
  const ipmi = { power_driver: 'LAN_2_0', power_boot_type: 'auto' };
  return {
    type,
    values: { ...(type === 'ipmi' && ipmi), power_address: address, power_user: username, power_pass: secret },
  };
}

const refusal = (reason: string): ActionResult => ({ ok: false, later: false, class: 'unknown', reason });
