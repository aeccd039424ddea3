// Debian's sshd on the loopback interface, with its own host keys and only for root, like the installer's.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { needPackages } from '../../../interop/packages.ts';

export const needSshd = (): void => needPackages(['openssh-server', 'openssh-client']);

/** A host key, as a file for sshd; the public line as the installer reports it. */
export function hostKey(
  folder: string,
  name: string,
  type: 'ed25519' | 'ecdsa' | 'rsa' = 'ed25519',
): { file: string; line: string } {
  const file = join(folder, name);
  const { status, stderr } = spawnSync('/usr/bin/ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return { file, line: readFileSync(`${file}.pub`, 'utf8').split(' ').slice(0, 2).join(' ') };
}

export interface RealSshd {
  readonly stop: () => Promise<void>;
  readonly log: () => string;
}

interface SshdSettings {
  readonly folder: string;
  readonly port: number;
  readonly hostKeys: readonly string[];
  readonly authorizedKeys: readonly string[];
  readonly options?: readonly string[];
}

/** Returns when it listens; it is stopped with the test. */
export async function startSshd({
  folder,
  port,
  hostKeys,
  authorizedKeys,
  options = [],
}: SshdSettings): Promise<RealSshd> {
  // The privilege separation folder of sshd.
  mkdirSync('/run/sshd', { recursive: true });
  const keys = join(folder, 'authorized_keys');
  writeFileSync(keys, authorizedKeys.map((line) => `${line}\n`).join(''), { mode: 0o600 });
  const file = join(folder, 'sshd_config');
  const lines = [
    `ListenAddress 127.0.0.1:${port}`,
    ...hostKeys.map((key) => `HostKey ${key}`),
    `AuthorizedKeysFile ${keys}`,
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'UsePAM no',
    'StrictModes no',
    'PidFile none',
    ...options,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const sshd = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const stop = () => stopped(sshd);
  onTestFinished(stop);
  await new Promise<void>((resolve, reject) => {
    sshd.once('error', reject);
    sshd.once('exit', () => reject(new Error(`sshd ended: ${log}`)));
    sshd.stderr.on('data', (bytes: Buffer) => {
      log += bytes.toString('utf8');
      if (log.includes('Server listening')) resolve();
    });
  });
  return { stop, log: () => log };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
