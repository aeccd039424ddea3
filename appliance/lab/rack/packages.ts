// The Debian packages of a rack: detects missing ones and installs them.

import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { installedPackage } from '../../assets/debian-packages.ts';
import { ColdironError } from '../../domain/errors.ts';
import { RACK_PACKAGES } from './firmware.ts';

/** Includes the packages for BMCs, TPMs and the rogue DHCP server. */
export const FULL_RACK_PACKAGES: readonly string[] = [
  ...RACK_PACKAGES,
  'dnsmasq-base',
  'openipmi',
  'socat',
  'swtpm',
  'swtpm-tools',
];

/** A program without its package, installed from elsewhere, is good enough. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'dnsmasq-base': '/usr/sbin/dnsmasq',
  openipmi: '/usr/bin/ipmi_sim',
  socat: '/usr/bin/socat',
  swtpm: '/usr/bin/swtpm',
  'swtpm-tools': '/usr/bin/swtpm_setup',
};

export async function missingPackages(names: readonly string[] = FULL_RACK_PACKAGES): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of names) {
    const installed = await installedPackage({ package: name, architecture: null });
    if (installed === null && !(await fileExists(PROGRAMS[name]))) missing.push(name);
  }
  return missing;
}

/** Installs missing packages and says so; `service_unavailable` with apt's error output when that fails. */
export async function installPackages(missing: readonly string[], say: (line: string) => void): Promise<void> {
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) throw new ColdironError('forbidden', 'installing Debian packages needs root');
  say(`Installing Debian packages for the rack: ${missing.join(' ')}`);
  const install = () => apt('install', '-y', '-qq', '--no-install-recommends', ...missing);
  await withoutStartingServices(async () => {
    // The package lists of a fresh machine are empty or outdated.
    await install().catch(async () => {
      await apt('update', '-qq');
      await install();
    });
  });
}

/** invoke-rc.d(8). The rack needs the packages' programs; their services must not start on this host. */
const POLICY = '/usr/sbin/policy-rc.d';

async function withoutStartingServices(work: () => Promise<void>): Promise<void> {
  if (await fileExists(POLICY)) return await work();
  await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await work();
  } finally {
    await rm(POLICY, { force: true });
  }
}

async function apt(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  // Another process may hold apt's lock.
  const withLockTimeout = ['-o', 'DPkg::Lock::Timeout=300', ...args];
  await promisify(execFile)('apt-get', withLockTimeout, { env, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: Error & { stderr?: string }) => {
      throw new ColdironError('service_unavailable', `apt-get ${args[0]} failed`, [
        error.stderr?.trim() || error.message,
      ]);
    },
  );
}

const fileExists = async (file: string | undefined): Promise<boolean> =>
  file !== undefined &&
  (await access(file).then(
    () => true,
    () => false,
  ));
