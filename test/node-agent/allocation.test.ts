// An allocation from the request to the release with a real appliance and the real agent, which runs in a Debian system of its own:
// useradd, SSH keys, and everything removed again.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DebianRoot } from '../interop/cloud-init/debian-root.ts';
import { AgentSite, type InstalledAgent } from './agent-rig.ts';

interface Allocation {
  readonly id: string;
  readonly state: string;
}

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH alice@laptop';

/** The root folder of the system that the agent runs in, seen from outside. */
function rootOf(agent: InstalledAgent): string {
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (command[0] === 'dash' && command[1]?.startsWith(agent.root)) return `/proc/${name}/root`;
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error('the agent does not run');
}

describe('an allocation with a real agent', () => {
  let site: AgentSite;
  let agent: InstalledAgent;
  beforeAll(async () => {
    const root = await DebianRoot.prepare();
    site = await AgentSite.make();
    await site.serve();
    agent = site.install('node01');
    const script = join(import.meta.dirname, 'in-debian.sh');
    agent.start(['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', script, root.path, agent.root]);
    await agent.says('enrolled');
    const file = join(site.site.path, 'alice.pub');
    writeFileSync(file, `${KEY}\n`);
    site.run('keys', 'add', file, '--owner', 'alice');
  });
  afterAll(() => site.end());

  const inside = (path: string): string => readFileSync(join(rootOf(agent), path), 'utf8');

  it('is provisioned, protects its node, and leaves nothing behind', async () => {
    await expect
      .poll(() => site.json<{ health: string }>('nodes', 'show', 'node01').health, { timeout: 60_000, interval: 500 })
      .toBe('online');
    const allocation = site.json<Allocation>('allocations', 'request', 'alice', '--node', 'node01', '--wait');
    expect(allocation.state).toBe('active');
    expect(inside('etc/passwd')).toMatch(/^alice:x:\d{4}:/m);
    expect(inside('home/alice/.ssh/authorized_keys').trim()).toBe(KEY);

    const refused = site.site.run('retire', 'node01', '--json');
    expect(refused.status).toBe(5);
    expect(refused.stdout + refused.stderr).toContain(allocation.id);
    expect(site.run('allocations', 'list')).toContain(`${allocation.id}  alice`);

    const released = site.json<Allocation>('allocations', 'release', allocation.id, '--wait');
    expect(released.state).toBe('released');
    expect(inside('etc/passwd')).not.toContain('alice');
    expect(readdirSync(join(rootOf(agent), 'home'))).toEqual([]);
    expect(site.run('trail', 'node01')).toContain('Allocation of alice is released');
    expect(site.json('retire', 'node01')).toMatchObject([{ state: 'retired' }]);
  });
});
