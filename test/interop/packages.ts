// Peers that we did not write come from Debian packages. A test names what it needs; missing packages are installed, with a message.

import { spawnSync } from 'node:child_process';

const run = (command: string, args: readonly string[]) =>
  spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });

const isInstalled = (name: string): boolean =>
  run('dpkg-query', ['-W', '-f', '\u0024{db:Status-Status}', name]).stdout === 'installed';

export function needPackages(names: readonly string[]): void {
  let missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  process.stderr.write(`Installing Debian packages for this test: ${missing.join(' ')}\n`);
  const { stderr, error } = run('flock', [LOCK, 'sh', '-c', INSTALL, 'install', ...missing]);
  missing = missing.filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    throw new Error(`this test needs the Debian packages ${missing.join(' ')} (as root): ${stderr || error?.message}`);
  }
}

/** Test files run in parallel, and Debian's package tools fail when another process holds their lock: run one after the other. */
const LOCK = '/var/lock/coldiron-test-packages';

/**
 * invoke-rc.d(8): a DHCP server or a web server that a test needs must not start to serve this host. The
 * package lists of a fresh machine are empty or outdated.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
install() { apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "$@"; }
install "$@" || { apt-get update -qq; install "$@"; }
`;
