// OpenIPMI's simulator on loopback, with a chassis whose power and boot device are files in a temporary folder.

import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { encodePing } from '../../../appliance/codecs/ipmi/rmcp.ts';
import { freePort } from '../../free-port.ts';

export interface Chassis {
  /** Contents of `power` (1 or 0), `boot`, `reset`, `shutdown`, as the chassis program wrote them. */
  chassis(file: string): string;
  /** As with the machine's own buttons. */
  setChassis(file: string, content: string): void;
  /** Everything that the chassis program set, such as `power 1`. */
  chassisLog(): readonly string[];
}

export interface OpenIpmi extends Chassis {
  readonly port: number;
  /** As if unplugged. */
  kill(): Promise<void>;
}

const CHASSIS_PROGRAM = `#!/bin/sh
folder=$1; verb=$2; shift 2
case $verb in
get) for what in "$@"; do test ! -e "$folder/$what-shown" || { echo "$what:$(cat "$folder/$what-shown")"; continue; }
  echo "$what:$(cat "$folder/$what" 2>/dev/null || echo 0)"; done ;;
set) while [ $# -gt 1 ]; do echo "$2" > "$folder/$1"; echo "$1 $2" >> "$folder/log"; shift 2; done ;;
esac
`;

const EMULATION = `mc_setbmc 0x20
mc_add 0x20 0x20 no-device-sdrs 0x23 2 0x10 0x9f 0x0012b2 0x0302 persist_sdr
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 1 1 1
sensor_set_value 0x20 0 1 0x2d 0
sensor_set_threshold 0x20 0 1 settable 111000 0x64 0x5a 0x50 0 0 0
sensor_set_event_support 0x20 0 1 enable scanning per-state \\
  000111111000000 000111111000000 000111111000000 000111111000000
main_sdr_add 0x20 0x00 0x00 0x51 0x01 0x33 0x20 0x00 0x01 0x03 0x01 0x7f 0x68 0x01 0x01 0x80 0x0a 0x80 0x0a 0x38 0x38 \\
  0x00 0x01 0x00 0x00 0x01 0x00 0x00 0x00 0x00 0x00 0x00 0x2d 0x50 0x14 0xff 0x00 0x64 0x5a 0x50 0x00 0x00 0x00 0x02 \\
  0x02 0x00 0x00 0x00 0xc8 'C' 'P' 'U' '_' 'T' 'e' 'm' 'p'
sel_add 0x20 0x02 0 0 0 0x65 0x20 0 4 0x12 1 0x6f 1 0 0
mc_enable 0x20
`;

/** `serialPort`: the device that the console of the simulated machine is connected to. */
export async function startOpenIpmi(serialPort: string | null = null): Promise<OpenIpmi> {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-openipmi-'));
  const port = await freePort();
  const { args, login: _, ...chassis } = layOpenIpmi(folder, { address: '127.0.0.1', port, serialPort });
  const simulator = spawn('ipmi_sim', args, { stdio: 'ignore' });
  const exited = once(simulator, 'exit');
  const kill = async (): Promise<void> => {
    simulator.kill('SIGKILL');
    await exited;
  };
  onTestFinished(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await waitForPing(port);
  return { port, kill, ...chassis };
}

interface Place {
  readonly address: string;
  readonly port: number;
  readonly serialPort: string | null;
}

/** Writes the files of a simulator to a folder; `args` are those of `ipmi_sim`. */
export function layOpenIpmi(
  folder: string,
  place: Place,
): Chassis & {
  readonly args: readonly string[];
  readonly login: { readonly user: string; readonly password: string };
} {
  const program = join(folder, 'chassis-control');
  const chassis = join(folder, 'chassis');
  mkdirSync(chassis);
  mkdirSync(join(folder, 'state'));
  writeFileSync(program, CHASSIS_PROGRAM);
  chmodSync(program, 0o755);
  writeFileSync(join(chassis, 'power'), '0\n');
  writeFileSync(join(chassis, 'boot'), 'none\n');
  writeFileSync(join(chassis, 'log'), '');
  writeFileSync(join(folder, 'sim.emu'), EMULATION);
  writeFileSync(join(folder, 'lan.conf'), lanConfiguration(place, `${program} ${chassis}`));
  const read = (file: string): string => readFileSync(join(chassis, file), 'utf8').trim();
  return {
    args: ['-n', '-c', join(folder, 'lan.conf'), '-f', join(folder, 'sim.emu'), '-s', join(folder, 'state')],
    login: { user: 'admin', password: 'lab-password' },
    chassis: read,
    setChassis: (file, content) => writeFileSync(join(chassis, file), `${content}\n`),
    chassisLog: () => read('log').split('\n'),
  };
}

const lanConfiguration = ({ address, port, serialPort }: Place, chassisProgram: string): string => `name "node1"
set_working_mc 0x20
  startlan 1
    addr ${address} ${port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789000001
  endlan
  chassis_control "${chassisProgram}"
  ${serialPort ? `sol "${serialPort}" 115200` : ''}
  user 2 true "admin" "lab-password" admin 10 none md2 md5 straight
`;

/** Pings until it replies: the simulator has no other readiness signal. */
async function waitForPing(port: number): Promise<void> {
  const socket = createSocket('udp4');
  const ping = setInterval(() => socket.send(encodePing(1), port, '127.0.0.1'), 50);
  try {
    await once(socket, 'message', { signal: AbortSignal.timeout(20_000) });
  } finally {
    clearInterval(ping);
    socket.close();
  }
}
