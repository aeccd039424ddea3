// The whole life of an undeclared machine: it is discovered, accepted, commissioned, installed, enrolled, given a
// task, and erased. Its power and its boot device are controlled only through its BMC, over IPMI.

import { open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dump, load } from 'js-yaml';
import { expect } from 'vitest';
import type { Answer } from '../../appliance/contract/wire.ts';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import type { FirmwareKind } from '../../appliance/lab/rack/firmware.ts';
import { AnnouncedPort } from '../interop/lldp/lldpd.ts';
import { OnboardingRig, type TrailEvent } from './rig.ts';

const SHOWS_UP_WITHIN_MS = 5 * 60_000;
const ONBOARDED_WITHIN_MS = 30 * 60_000;

const NODE = 'node01';
const LISTED_AS = 'unknown-525400770001';
const INSTALLATION = [
  'inspect',
  'rehearse',
  'choose-disk',
  'write-image',
  'verify-image',
  'grow',
  'seed',
  'boot-entry',
];

export interface Life {
  readonly firmware: FirmwareKind;
  /** Takes everything down again, also after a failure. */
  readonly stopLater: (stop: () => Promise<void>) => void;
  /** Runs while it is installed and boots for the first time; afterwards the machine must be running. */
  readonly meanwhile?: (rig: OnboardingRig, node: string) => Promise<void>;
}

export async function liveWholeLife({ firmware, stopLater, meanwhile = async () => {} }: Life): Promise<void> {
  const rig = await OnboardingRig.start({ firmwares: [firmware], inventory: withoutNodes });
  stopLater(() => rig.stop());
  const port = await connectedToSwitch(rig);
  stopLater(() => port.stop());
  await showUp(rig);
  await commission(rig, firmware);
  await deploy(rig, meanwhile);
  await runTask(rig);
  await release(rig);
  expectWholeTrail(await rig.trail(NODE));
  expect(await rig.run('audit', 'verify')).toMatchObject({ status: 0 });
}

/**
 * The same life, but only the address of its BMC is known: one request of five fields takes it from cold to active. The boot that the run
 * triggers shows its card, and its serial number is the one that its BMC names.
 */
export async function liveOnboardedLife({ firmware, stopLater }: Omit<Life, 'meanwhile'>): Promise<void> {
  const rig = await OnboardingRig.start({ firmwares: [firmware], inventory: withoutNodesButALogin });
  stopLater(() => rig.stop());
  expect(await rig.json('nodes', 'list')).toEqual([]);
  const site = rig.rack.definition.site;
  const bmc = rig.rack.slot(NODE).bmc?.address ?? expect.fail('it has no BMC');
  const words = ['--site', site, '--profile', 'debian-12', '--sku', 'virtual-x86-64', '--bmc', bmc, '--yes'];
  const { id } = await rig.json<Answer<'createOnboarding'>>('onboard', NODE, ...words);
  // The first run of a site.
  await rig.json('onboardings', 'confirm', id, '--yes');
  const shown = () => rig.json<Answer<'getOnboarding'>>('onboardings', 'show', id);
  const isOver = async () => (await shown()).state !== 'running';
  await expect.poll(isOver, { timeout: ONBOARDED_WITHIN_MS, interval: 2000 }).toBe(true);
  const run = await shown();
  if (run.state !== 'completed') throw new Error(await rig.story(NODE, JSON.stringify(run.failure)));
  expect(run).toMatchObject({ attempt: 1, failure: null, ipmi_ip: bmc });
  expect(run.steps.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(
    ['preflight', 'discover', 'commission', 'predeploy', 'deploy', 'enroll', 'verify'].map((step) => `${step} done`),
  );
  expect(await rig.json('nodes', 'show', NODE)).toMatchObject({
    state: 'active',
    source: 'api',
    interfaces: [{ mac: '52:54:00:77:00:01' }],
    bmc: { address: bmc },
    found: { facts: { system: { serial: 'CLD0001' } } },
  });
  expect(await rig.json('nodes', 'list')).toHaveLength(1);
  const trail = await rig.trail(NODE);
  const own = trail.filter(({ kind }) => kind.startsWith('onboarding.'));
  expect(new Set(own.map(({ correlation_id }) => correlation_id))).toEqual(new Set([run.correlation_id]));
  expect(trail.filter(({ kind }) => kind === 'intent.consumed')).toHaveLength(1);
  await runTask(rig);
  await release(rig);
  expect(await rig.run('audit', 'verify')).toMatchObject({ status: 0 });
}

const DECLARED_LATER = 'machines.yaml';

const SWITCH = 'sw3.dc1.example';
const PORT = 'Ethernet1/12';
/** As a person writes it: without the domain of the switch, and abbreviated. */
const DECLARED_PORT = { name: 'sw3', port: 'Eth1/12' };

/** The rack's inventory in two files: at first the appliance knows the one without machines. The second declares the cable. */
async function withoutNodes(written: string): Promise<readonly string[]> {
  const { nodes, ...site } = load(await readFile(written, 'utf8')) as Record<string, Fields[]>;
  const file = join(dirname(written), 'empty-rack.yaml');
  await writeFile(file, dump(site));
  const cabled = nodes?.map((node) => ({
    ...node,
    interfaces: (node.interfaces as Fields[]).map((nic) => ({ ...nic, switch: DECLARED_PORT })),
  }));
  await writeFile(join(dirname(written), DECLARED_LATER), dump({ nodes: cabled }));
  return [file];
}

type Fields = Record<string, unknown>;

/** Debian's lldpd, in place of the switch that the machine is connected to. */
async function connectedToSwitch({ rack }: OnboardingRig): Promise<AnnouncedPort> {
  const [tap = ''] = rack.slot(NODE).taps;
  return await AnnouncedPort.start((...command) => rack.network.command(...command), tap, {
    ...{ system: SWITCH, port: PORT, description: 'a free text' },
  });
}

/** No machine, and in the policy of the site the login of the BMCs that it does not know yet. */
async function withoutNodesButALogin(written: string): Promise<readonly string[]> {
  const { nodes, sites, ...rest } = load(await readFile(written, 'utf8')) as Pick<InventoryDocument, 'nodes' | 'sites'>;
  const { driver, username, password_file } = nodes?.[0]?.bmc ?? expect.fail('the machine has no BMC');
  const onboarding = { bmc: { driver, username, password_file } };
  const file = join(dirname(written), 'empty-rack.yaml');
  await writeFile(file, dump({ ...rest, sites: sites?.map((site) => ({ ...site, onboarding })) }));
  return [file];
}

/** Accepts it under its listed name; then a file declares its name and its BMC. */
async function showUp(rig: OnboardingRig): Promise<void> {
  expect(await rig.json('nodes', 'list')).toEqual([]);
  await rig.ipmitool(NODE, 'power', 'on');
  await expect
    .poll(() => rig.json('nodes', 'list'), { timeout: SHOWS_UP_WITHIN_MS, interval: 1000 })
    .toMatchObject([{ hostname: LISTED_AS, state: 'discovered', source: 'network', bmc: null, profile: null }]);
  // Off again, so that the next boot that is seen is the requested one.
  await rig.ipmitool(NODE, 'power', 'off');
  expect(await rig.json('nodes', 'accept', LISTED_AS)).toMatchObject([{ state: 'registered' }]);
  await rig.json('apply', join(rig.state, 'rack', DECLARED_LATER));
  expect(await rig.node(NODE)).toMatchObject({ state: 'registered', profile: 'debian-12', bmc: { driver: 'ipmi' } });
}

async function commission(rig: OnboardingRig, firmware: FirmwareKind): Promise<void> {
  expect(await rig.json('commission', NODE, '--wait')).toEqual({ [NODE]: { ok: true } });
  expect(await rig.json('nodes', 'show', NODE)).toMatchObject({
    state: 'ready',
    cables: [{ verdict: 'as-declared', seen: { system: SWITCH, port: PORT } }],
    found: {
      facts: {
        system: { manufacturer: 'Coldiron', serial: 'CLD0001' },
        firmware: { kind: firmware.startsWith('bios') ? 'bios' : 'uefi' },
        disks: [{ name: 'vda', bytes: 2048 * 1024 * 1024, read_only: false }],
        nics: [{ mac: '52:54:00:77:00:01', driver: 'virtio_net', link: true }],
      },
    },
  });
  expect(await isEmpty(rig.disk(NODE))).toBe(true);
}

async function deploy(rig: OnboardingRig, meanwhile: NonNullable<Life['meanwhile']>): Promise<void> {
  const [deployed] = await Promise.all([rig.json('deploy', NODE, '--wait', '--yes'), meanwhile(rig, NODE)]);
  expect(deployed).toEqual({ [NODE]: { ok: true } });
  expect(await rig.node(NODE)).toMatchObject({ state: 'active', failure: null });
  // Its first boot, on its serial line.
  const console = rig.console(NODE);
  expect(console.lastIndexOf('coldiron: restarting')).toBeLessThan(console.lastIndexOf('Linux version'));
  expect(await isEmpty(rig.disk(NODE))).toBe(false);
  await expectCapturedConsole(rig);
}

type ConsoleLog = Answer<'getNodeConsoleLog'>;

/** The capture reads over IPMI what the machine says. Lines can be missing on a busy machine, so only their number is checked. */
async function expectCapturedConsole(rig: OnboardingRig): Promise<void> {
  const last = (...more: string[]) => rig.json<ConsoleLog>('console', NODE, '--last', '--lines', '5000', ...more);
  const [current, previous] = [await last(), await last('--previous')];
  expect([current.captured, current.node]).toEqual([true, NODE]);
  const said = [...previous.lines, ...current.lines].map(({ text }) => text);
  expect(said.length).toBeGreaterThan(50);
  expect(said.join('\n')).not.toMatch(/[\p{Cc}--\n]/v);
  // The tickets of the service OS are in the rack's own recording of the serial line.
  const tickets = (await readFile(rig.consoleFile(NODE), 'latin1')).match(/(?<=\/boot\/session\/)[\w-]{43}/g) ?? [];
  expect(tickets.length).toBeGreaterThan(0);
  for (const ticket of tickets) expect(said.join('\n')).not.toContain(ticket);
}

async function runTask(rig: OnboardingRig): Promise<void> {
  const task = await rig.json('task', 'run', NODE, 'ping', '--wait');
  expect(task).toMatchObject({ kind: 'ping', state: 'succeeded' });
}

async function release(rig: OnboardingRig): Promise<void> {
  expect(await rig.json('release', NODE, '--wait', '--yes')).toEqual({ [NODE]: { ok: true } });
  await expect.poll(() => rig.server(NODE).isOn).toBe(false);
  expect(await isEmpty(rig.disk(NODE))).toBe(true);
}

function expectWholeTrail(trail: readonly TrailEvent[]): void {
  const of = (kind: string): readonly TrailEvent[] => trail.filter((event) => event.kind === kind);
  expect(trail.flatMap(({ kind }) => (kind.startsWith('lifecycle.') ? [kind.slice('lifecycle.'.length)] : []))).toEqual(
    [...['registered', 'commissioning', 'ready', 'deploying', 'enrolling', 'active', 'releasing', 'ready']],
  );
  expect(of('session.ended').map(({ data }) => [data.mode, data.ok])).toEqual([
    ['commission', true],
    ['install', true],
    ['erase', true],
  ]);
  const [, installing] = trail.filter(({ kind, data }) => kind === 'session.opened' && data.mode !== 'inspect');
  const done = trail.filter(
    ({ kind, data, seq }) => kind === 'session.step' && data.status === 'done' && seq > (installing?.seq ?? 0),
  );
  expect(done.slice(0, INSTALLATION.length).map(({ data }) => data.step)).toEqual(INSTALLATION);
  // The intent was consumed by the boot that it was armed for, and by nothing else.
  expect(of('intent.armed').map(({ data }) => data.kind)).toEqual(['deploy', 'erase']);
  expect(of('intent.consumed')).toHaveLength(2);
  // Three one-time network boots, each confirmed by a DHCP request of the machine.
  expect(of('bmc.boot-obeyed')).toHaveLength(3);
  expect(of('bmc.done').map(({ data }) => data.effect)).toEqual(['power-off', 'power-off']);
  expect([...of('bmc.absent'), ...of('bmc.skipped'), ...of('bmc.failed')]).toEqual([]);
}

const PIECE = 1024 * 1024;

/** Every byte: a release must leave nothing behind. */
async function isEmpty(file: string): Promise<boolean> {
  await using disk = await open(file);
  const zeros = Buffer.alloc(PIECE);
  const piece = Buffer.alloc(PIECE);
  for (;;) {
    const { bytesRead } = await disk.read(piece, 0, PIECE, null);
    if (bytesRead === 0) return true;
    if (piece.compare(zeros, 0, bytesRead, 0, bytesRead) !== 0) return false;
  }
}
