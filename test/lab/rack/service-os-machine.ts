// A machine that boots the service OS directly, without network boot. QEMU's user-mode network gives
// it an address and access to this test only: none of its frames leaves the host.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { buildServiceOs, type ServiceOs } from '../../../appliance/assets/service-os/build.ts';
import { ConsoleLog } from '../../../appliance/lab/rack/console-log.ts';
import { needPackages } from '../../interop/packages.ts';
import { endingWithUs } from '../../process/appliance.ts';
import { EMULATED } from './emulated.ts';
import { fairClock } from './fair-clock.ts';
import type { ServiceOsSession } from './service-os-session.ts';

export const MAC = '52:54:00:77:00:50';
export const UUID = '7a11ab1e-0000-4000-8000-525400770050';
const WITHIN_MS = 400_000;
const LOOK_EVERY_MS = 1000;

export const serviceOs = (folder: string): Promise<ServiceOs> => buildServiceOs(folder, { architecture: 'amd64' });

export interface TestDisk {
  readonly file: string;
  readonly serial?: string;
  readonly readOnly?: boolean;
  readonly kind?: 'virtio' | 'nvme' | 'sata';
}

export interface TestMachineSpec {
  readonly disks?: readonly TestDisk[];
  /** File with its firmware's variables, so that it can be started again with them; absent: BIOS. */
  readonly uefi?: string;
  readonly memory?: number;
  /** A loopback port that is forwarded to its SSH server. */
  readonly sshPort?: number;
  readonly extra?: readonly string[];
}

export class ServiceOsMachine {
  readonly console = new ConsoleLog();
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(command: string, args: readonly string[]) {
    this.#process = spawn(...endingWithUs(command, args), { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (bytes: Buffer) => this.console.append(bytes));
    }
    this.#ended = once(this.#process, 'close').then(() => this.console.end(new Error('the machine went off')));
  }

  /** It switched itself off, as ordered. */
  async ended(): Promise<void> {
    const now = this.#clock();
    const deadline = now() + WITHIN_MS;
    const isOff = this.#ended.then(() => true);
    while (!(await Promise.race([isOff, pause(LOOK_EVERY_MS, false)]))) {
      if (now() > deadline) throw new Error(this.story('still on'));
    }
  }

  async prints(text: RegExp): Promise<void> {
    await this.console.waitFor(text, WITHIN_MS, this.#clock()).catch((error: Error) => {
      throw new Error(this.story(error.message));
    });
  }

  #clock(): () => number {
    return fairClock(() => this.#process.pid ?? null);
  }

  story(what: string): string {
    return [what, '--- the last of the console', ...this.console.lastLines(60)].join('\n');
  }

  async powerOff(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }
}

const CODE = '/usr/share/OVMF/OVMF_CODE_4M.fd';

export const newVariables = (file: string): string => {
  copyFileSync('/usr/share/OVMF/OVMF_VARS_4M.fd', file);
  return file;
};

/** Its address for what `reachable` names. */
export const SERVER = '10.0.2.100';

/** `reachable`: a loopback port. One socat per connection, because QEMU itself connects only once. */
function network(sshPort: number | undefined, reachable: number | null): string {
  return [
    'user,id=n0,restrict=on',
    ...(sshPort === undefined ? [] : [`hostfwd=tcp:127.0.0.1:${sshPort}-:22`]),
    ...(reachable === null ? [] : [`guestfwd=tcp:${SERVER}:${reachable}-cmd:socat - TCP:127.0.0.1:${reachable}`]),
  ].join(',');
}

function hardware(
  { disks = [], uefi, memory = 512, sshPort, extra = [] }: TestMachineSpec,
  reachable: number | null = null,
): string[] {
  return [
    ...(uefi === undefined ? ['-M', 'pc,graphics=off', '-vga', 'none'] : ['-M', 'q35']),
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-serial', 'stdio', '-no-reboot'],
    ...['-accel', 'tcg,thread=multi', '-cpu', 'qemu64', '-smp', '1', '-m', String(memory), '-uuid', UUID],
    ...['-smbios', 'type=1,manufacturer=Coldiron,product=Virtual,serial=SN-0050'],
    ...(uefi === undefined
      ? []
      : [
          ...['-drive', `if=pflash,unit=0,format=raw,readonly=on,file=${CODE}`],
          ...['-drive', `if=pflash,unit=1,format=raw,file=${uefi}`],
        ]),
    ...['-netdev', network(sshPort, reachable)],
    ...['-device', `virtio-net-pci,netdev=n0,mac=${MAC},romfile=`],
    ...['-object', 'rng-random,id=rng0,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng0'],
    ...(disks.some(({ kind }) => kind === 'sata') ? ['-device', 'ahci,id=sata'] : []),
    ...disks.flatMap(drive),
    ...extra,
  ];
}

function drive({ file, serial, readOnly = false, kind = 'virtio' }: TestDisk, index: number): string[] {
  const device = { virtio: 'virtio-blk-pci', nvme: 'nvme', sata: `ide-hd,bus=sata.${index}` }[kind];
  const access = readOnly ? 'readonly=on' : 'cache=unsafe';
  return [
    ...['-drive', `if=none,id=d${index},format=raw,file=${file},discard=unmap,${access}`],
    ...[
      '-device',
      `${device},drive=d${index}${serial === undefined ? '' : `,serial=${serial}`},bootindex=${index + 1}`,
    ],
  ];
}

/** The session server's URL for the machine. */
export const serverOf = ({ port }: ServiceOsSession): string => `http://${SERVER}:${port}`;

export function bootServiceOs(
  os: ServiceOs,
  session: ServiceOsSession,
  mode: string,
  spec: TestMachineSpec = {},
): ServiceOsMachine {
  const server = serverOf(session);
  const words = [
    ...[`coldiron.server=${server}`, `coldiron.mode=${mode}`],
    ...[`coldiron.session=${server}/boot/session/${session.ticket}`, 'coldiron.node=node05'],
  ];
  return bootWithWords(os, session.port, words, spec);
}

/** `port`: of the session server. `words`: for the kernel's command line. */
export function bootWithWords(
  { kernel, initrd }: Pick<ServiceOs, 'kernel' | 'initrd'>,
  port: number,
  words: readonly string[],
  spec: TestMachineSpec = {},
): ServiceOsMachine {
  needPackages(['socat']);
  const line = ['console=ttyS0', 'quiet', EMULATED, ...words, `BOOTIF=01-${MAC.replaceAll(':', '-')}`].join(' ');
  const boot = ['-kernel', kernel, '-initrd', initrd, '-append', line];
  return new ServiceOsMachine('qemu-system-x86_64', [...hardware(spec, port), ...boot]);
}

/** Boots from its disk, as after an installation. */
export const bootFromDisk = (spec: TestMachineSpec): ServiceOsMachine =>
  new ServiceOsMachine('qemu-system-x86_64', hardware(spec));
