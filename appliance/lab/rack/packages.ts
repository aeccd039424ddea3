// The Debian packages that a rack is made of: which are missing, and how they come.

import { execFile } from 'node:child_process';
import { access, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { installedPackage } from '../../assets/debian-packages.ts';
import { ColdironError } from '../../domain/errors.ts';
import { RACK_PACKAGES } from './firmware.ts';

/** With BMCs, and the second DHCP server that can be asked for. */
export const FULL_RACK_PACKAGES: readonly string[] = [...RACK_PACKAGES, 'dnsmasq-base', 'openipmi', 'socat'];

/** A package may be missing while its program is there, from elsewhere: that will do. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'dnsmasq-base': '/usr/sbin/dnsmasq',
  openipmi: '/usr/bin/ipmi_sim',
  socat: '/usr/bin/socat',
};

export async function missingPackages(wanted: readonly string[] = FULL_RACK_PACKAGES): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of wanted) {
    const installed = await installedPackage({ package: name, architecture: null });
    if (installed === null && !(await isThere(PROGRAMS[name]))) missing.push(name);
  }
  return missing;
}

/** Installs what is missing and says so; `service_unavailable` with apt's own words when it cannot. */
export async function installPackages(missing: readonly string[], say: (line: string) => void): Promise<void> {
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) throw new ColdironError('forbidden', 'Debian packages are installed by root');
  say(`Installing Debian packages for the rack: ${missing.join(' ')}`);
  const install = () => apt('install', '-y', '-qq', '--no-install-recommends', ...missing);
  await withoutStartingServices(async () => {
    // The package lists of a fresh machine are empty or old.
    await install().catch(async () => {
      await apt('update', '-qq');
      await install();
    });
  });
}

/** invoke-rc.d(8). What comes with a package is wanted for the rack; this machine is to go on as it was. */
const POLICY = '/usr/sbin/policy-rc.d';

async function withoutStartingServices(work: () => Promise<void>): Promise<void> {
  if (await isThere(POLICY)) return await work();
  await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await work();
  } finally {
    await rm(POLICY, { force: true });
  }
}

async function apt(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  // Somebody else may be installing something just now.
  const patient = ['-o', 'DPkg::Lock::Timeout=300', ...args];
  await promisify(execFile)('apt-get', patient, { env, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error: Error & { stderr?: string }) => {
      throw new ColdironError('service_unavailable', `apt-get ${args[0]} does not work`, [
        error.stderr?.trim() || error.message,
      ]);
    },
  );
}

const isThere = async (file: string | undefined): Promise<boolean> =>
  file !== undefined &&
  (await access(file).then(
    () => true,
    () => false,
  ));
