// The installer's scripts in a temporary folder with its own /sys, /mnt and /etc; every program that could change this
// machine is a fake.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { put, temporaryFolder } from '../../../assets/tiny-files.ts';
import type { SessionServer } from './session-server.ts';

const REPOSITORY = join(import.meta.dirname, '../../../..');
export const HOST_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJt1vHfBpYDDDqDdnQ5Q1PpoQFwSKuJnE9RyCj0mVfEg';
export const TOPLEVEL = '/nix/store/abc-nixos-system-node05';
const MAC = '52:54:00:12:34:56';

/** What each fake does, by name. `$record` is the rig's folder; each call is also recorded with its arguments. */
const PROGRAMS: Readonly<Record<string, string>> = {
  nix: `case "$*" in *diskoScript) echo "$record/disko" ;; *toplevel) echo '${TOPLEVEL}' ;; esac`,
  'nixos-install': 'echo "installing the boot loader" >&2',
  mountpoint: 'exit 0',
  ...Object.fromEntries(
    [
      'udevadm',
      'systemctl',
      'reboot',
      'poweroff',
      'umount',
      'mount',
      'swapoff',
      'zpool',
      'modprobe',
      'ipmitool',
      'smartctl',
      'dmidecode',
      'tcpdump',
    ].map((name) => [name, '']),
  ),
};

export interface InstallerRig {
  readonly folder: string;
  /** Its exit code; null: ended by a signal. */
  readonly ended: Promise<number | null>;
  /** Program and arguments, in call order. */
  calls(): string[];
  said(): string;
  has(path: string): boolean;
}

/** `tellEvery`: seconds between two reports of a running step. */
export function startInstaller(
  session: Pick<SessionServer, 'url'>,
  programs: Readonly<Record<string, string>> = {},
  tellEvery = 60,
  environment: Readonly<Record<string, string>> = {},
): InstallerRig {
  const folder = temporaryFolder();
  const program = (path: string, script: string): void =>
    chmodSync(
      put(
        folder,
        path,
        `#!/bin/bash\nrecord='${folder}'\necho "\${0##*/} $*" >> "$record/calls"\necho $$ >> "$record/programs"\n${script}\n`,
      ),
      0o755,
    );
  for (const [name, script] of Object.entries({ ...PROGRAMS, ...programs }))
    program(name === 'disko' ? name : `bin/${name}`, script);
  if (programs.disko === undefined) program('disko', '');
  put(
    folder,
    'cmdline',
    `init=/nix/store/x/init BOOTIF=01-${MAC.replaceAll(':', '-')} coldiron.session=${session.url} coldiron.node=node05\n`,
  );
  put(folder, 'sys/class/net/eth0/address', `${MAC}\n`);
  put(folder, 'sys/class/net/eth0/device/vendor', '');
  put(folder, 'sys/class/dmi/id/product_uuid', '4C4C4544-0051-3010-8057-B4C04F4A4A32\n');
  put(folder, 'sys/class/dmi/id/product_serial', 'SN0005\n');
  put(folder, 'sys/block/vda/size', '41943040\n');
  put(folder, 'etc/ssh/ssh_host_ed25519_key.pub', `${HOST_KEY} root@nixos\n`);
  put(folder, 'mnt/.here', '');
  put(folder, 'root/.ssh/authorized_keys', 'ssh-ed25519 AAAA somebody\n');
  put(folder, 'calls', '');
  const child = spawn('bash', [join(REPOSITORY, 'nixos/installer/main.sh')], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
    env: {
      PATH: `${folder}/bin:/usr/bin:/bin`,
      LIB: join(REPOSITORY, 'boot-assets/service-os'),
      RUN: join(folder, 'run'),
      SYS: join(folder, 'sys'),
      DEV: join(folder, 'no-devices'),
      CONSOLE: join(folder, 'console'),
      ROOT: join(folder, 'mnt'),
      ETC: join(folder, 'etc'),
      ROOT_HOME: join(folder, 'root'),
      COMMAND_LINE: join(folder, 'cmdline'),
      DISK_KEY: join(folder, 'disk-encryption.key'),
      PROGRESS_SECONDS: String(tellEvery),
      POLL_SECONDS: '0.2',
      DELIVERY_SECONDS: '20',
      ...environment,
    },
  });
  onTestFinished(() => endAll(child, folder));
  return {
    folder,
    ended: once(child, 'exit').then(([code]) => code),
    calls: () =>
      readFileSync(join(folder, 'calls'), 'utf8')
        .trim()
        .split('\n')
        .filter((line) => line !== ''),
    // A console is a device that stores nothing; the log has the same lines.
    said: () => (existsSync(join(folder, 'run/log')) ? readFileSync(join(folder, 'run/log'), 'utf8') : ''),
    has: (path) => existsSync(join(folder, path)),
  };
}

/** Also after a failed test: ends the scripts, and each program of theirs that still runs, which leads its own group. */
function endAll(child: ChildProcess, folder: string): void {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  const file = join(folder, 'programs');
  const programs = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
  // Another process may have the id now.
  for (const pid of programs.filter((number) => commandOf(number).includes(folder))) process.kill(-pid, 'SIGKILL');
}

function commandOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, 'latin1') : '';
}
