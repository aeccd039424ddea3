// Peers that we did not write come from Debian's packages. A test names what it needs; what is missing is installed, and said.

import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

const run = (command: string, args: readonly string[]) =>
  spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });

const isInstalled = (name: string): boolean =>
  run('dpkg-query', ['-W', '-f', '\u0024{db:Status-Status}', name]).stdout === 'installed';

export function needPackages(names: readonly string[]): void {
  let missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  process.stderr.write(`Installing Debian packages for this test: ${missing.join(' ')}\n`);
  const install = () => run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing]);
  const reason = withoutStartingServices(() => {
    const first = install();
    if (first.status === 0) return '';
    // The package lists of a fresh machine are empty or old.
    run('apt-get', ['update', '-qq']);
    const second = install();
    return second.stderr || second.error?.message;
  });
  missing = missing.filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    throw new Error(`this test needs the Debian packages ${missing.join(' ')} (as root): ${reason}`);
  }
}

/** invoke-rc.d(8): a DHCP server or a web server that a test wants to talk to must not begin to serve this machine. */
const POLICY = '/usr/sbin/policy-rc.d';

function withoutStartingServices<T>(work: () => T): T {
  if (existsSync(POLICY) || process.getuid?.() !== 0) return work();
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return work();
  } finally {
    rmSync(POLICY, { force: true });
  }
}
