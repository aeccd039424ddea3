// From power-on to active on emulated machines, stage by stage, compared with the minimum: the same service OS
// and the same installed disk, each booted by QEMU directly from its kernel, without firmware, network boot and loader.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { operate } from '../../appliance/cli/operate.ts';
import type { FirmwareKind } from '../../appliance/lab/rack/firmware.ts';
import { EMULATED } from '../lab/rack/emulated.ts';
import { bootServiceOs, serviceOs } from '../lab/rack/service-os-machine.ts';
import { ServiceOsSession } from '../lab/rack/service-os-session.ts';
import { OnboardingRig } from '../onboarding/rig.ts';
import { FIRST_START, type StageTime, stageTimes, UNTIL_FIRST_REPORT } from '../onboarding/stage-times.ts';
import { printTable, printVerdict, say } from './figures.ts';

const NODE = 'node01';
const WITHIN_MS = 15 * 60_000;
const LOOK_EVERY_MS = 100;
const FIRMWARES = { BIOS: 'bios-ipxe-rom', UEFI: 'uefi-pxe' } as const satisfies Record<string, FirmwareKind>;

export async function benchOnboarding(): Promise<void> {
  say('the service OS, started from its kernel');
  const firstReport = await directServiceOs();
  const measured: Measured[] = [];
  for (const [name, firmware] of Object.entries(FIRMWARES)) {
    say(`a ${name} machine, from power-on to active`);
    measured.push(await onboard(name, firmware));
  }
  const firstStart = Math.min(...measured.map(({ directStart }) => directStart));
  const floorOf = (stage: string): number | null => (stage === FIRST_START ? firstStart : null);
  const rows = (measured[0]?.stages ?? []).map(({ name }, index) => [
    name,
    ...measured.map(({ stages }) => seconds(stages[index]?.seconds)),
    seconds(floorOf(name) ?? undefined),
  ]);
  rows.splice(UNTIL_FIRST_REPORT.length, 0, [
    '  together: power-on to the first report',
    ...measured.map(({ stages }) => seconds(untilFirstReport(stages))),
    seconds(firstReport),
  ]);
  rows.push(['power-on to active', ...measured.map(({ stages }) => seconds(sum(stages))), '']);
  printTable(['stage, in seconds', ...measured.map(({ name }) => name), 'direct kernel boot'], rows);
  // The installation itself takes the same time in both.
  const boots = measured.map(({ stages }) => untilFirstReport(stages) + firstStartOf(stages));
  printVerdict('onboarding', Math.max(...boots), [{ name: 'direct kernel boot', value: firstReport + firstStart }]);
}

interface Measured {
  readonly name: string;
  readonly stages: readonly StageTime[];
  /** Seconds from the kernel of the installed disk to its agent's enrollment request. */
  readonly directStart: number;
}

async function directServiceOs(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'coldiron-bench-onboarding-'));
  const session = new ServiceOsSession({ order: { mode: 'inspect' } });
  await session.listen();
  const began = performance.now();
  const machine = bootServiceOs(await serviceOs(folder), session, 'inspect');
  try {
    await until(() => session.introduction !== null);
    return (performance.now() - began) / 1000;
  } finally {
    await machine.powerOff();
    await session.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function onboard(name: string, firmware: FirmwareKind): Promise<Measured> {
  const rig = await OnboardingRig.start({ firmwares: [firmware] });
  try {
    await rig.json('commission', NODE, '--wait');
    const deployed = rig.json('deploy', NODE, '--wait', '--yes');
    await rig.waitForState(NODE, 'enrolling', WITHIN_MS);
    const disk = await diskAsInstalled(rig);
    await deployed;
    const stages = stageTimes(await rig.trail(NODE));
    await rig.server(NODE).powerOff();
    return { name, stages, directStart: await directStart(rig, disk) };
  } finally {
    await rig.stop();
  }
}

/** Before its first boot; the machine is paused meanwhile, for a fraction of a second. */
async function diskAsInstalled(rig: OnboardingRig): Promise<string> {
  const { pid } = rig.server(NODE);
  const copy = join(rig.state, 'installed.img');
  if (pid !== null) process.kill(pid, 'SIGSTOP');
  try {
    await copyFile(rig.disk(NODE), copy, constants.COPYFILE_FICLONE);
  } finally {
    if (pid !== null) process.kill(pid, 'SIGCONT');
  }
  return copy;
}

/** Where the image's build.sh puts the root file system. */
const ROOT_AT = 18 * 1024 * 1024;

/** The token on the disk was consumed by the machine itself, so the agent is rejected; only the time of its request counts. */
async function directStart(rig: OnboardingRig, disk: string): Promise<number> {
  const folder = join(rig.state, 'direct');
  await mkdir(folder);
  const names = (await debugfs(disk, 'ls -p /boot')).split('\n').flatMap((line) => line.split('/')[5] ?? []);
  const [kernel, initrd] = ['vmlinuz-', 'initrd.img-'].map(
    (start) => names.find((name) => name.startsWith(start)) ?? '',
  );
  await debugfs(disk, `dump /boot/${kernel} ${join(folder, 'kernel')}`);
  await debugfs(disk, `dump /boot/${initrd} ${join(folder, 'initrd')}`);
  const { machine, taps } = rig.rack.slot(NODE);
  const [command, ...args] = rig.rack.network.command(
    ...(['qemu-system-x86_64', '-M', 'q35', '-nodefaults', '-no-user-config', '-display', 'none'] as const),
    ...['-accel', 'tcg,thread=multi', '-cpu', 'qemu64', '-smp', '1', '-m', '768', '-uuid', machine.uuid],
    ...['-netdev', `tap,id=n0,ifname=${taps[0]},script=no,downscript=no`],
    ...['-device', `virtio-net-pci,netdev=n0,mac=${machine.cards[0]},romfile=`],
    ...['-drive', `if=none,id=d0,format=raw,file=${disk},cache=unsafe`, '-device', 'virtio-blk-pci,drive=d0'],
    ...[
      '-kernel',
      join(folder, 'kernel'),
      '-initrd',
      join(folder, 'initrd'),
      '-serial',
      `file:${join(folder, 'console')}`,
    ],
    ...['-append', `root=LABEL=coldiron-root ro console=tty0 console=ttyS0,115200n8 net.ifnames=0 ${EMULATED}`],
  );
  const before = (await refusals(rig)).length;
  const began = performance.now();
  const started = spawn(command, args, { stdio: 'ignore' });
  try {
    await until(async () => (await refusals(rig)).length > before);
    return (performance.now() - began) / 1000;
  } finally {
    started.kill('SIGKILL');
    await once(started, 'exit');
  }
}

const refusals = async (rig: OnboardingRig): Promise<readonly unknown[]> => {
  const { entries } = await operate(await rig.api(), 'listAuditEntries', { query: { limit: '1000' } });
  return entries.filter(({ action }) => action === 'node.enrollment_refused');
};

const debugfs = async (disk: string, request: string): Promise<string> =>
  (await promisify(execFile)('debugfs', ['-R', request, `${disk}?offset=${ROOT_AT}`])).stdout;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error('a machine that was started from its kernel says nothing');
    await pause(LOOK_EVERY_MS);
  }
}

const sum = (stages: readonly StageTime[]): number => stages.reduce((total, { seconds: each }) => total + each, 0);
const untilFirstReport = (stages: readonly StageTime[]): number =>
  sum(stages.filter(({ name }) => UNTIL_FIRST_REPORT.includes(name)));
const firstStartOf = (stages: readonly StageTime[]): number => sum(stages.filter(({ name }) => name === FIRST_START));
const seconds = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(1));
