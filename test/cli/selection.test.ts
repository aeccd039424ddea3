// The CLI as a user types it, against a management API on a socket.

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { runColdiron } from './run-coldiron.ts';

let api: Fixture;
const open = async () => {
  api = await openApi({ deps: () => ({ authenticate: localAuthenticator('test') }) });
  await api.app.listen({ path: join(api.stateDir, 'coldiron.sock') });
};

const coldiron = (...args: string[]) => runColdiron(api.stateDir, args);
const states = () => [...api.fleet.machines()].map(({ lifecycle }) => lifecycle.state);

describe('a selector', () => {
  beforeEach(open);
  afterEach(() => api.close());

  it('selects on the server, shows the nodes, and runs a non-destructive verb without a prompt when there is no terminal', async () => {
    const run = await coldiron('retire', '--rack', 'r1', '--note', 'moved');
    expect(run.status).toBe(0);
    expect(run.stderr).toMatch(/node02 +registered/);
    expect(run.stderr).toContain('retire: 2 nodes');
    expect(run.stdout).not.toContain('node01');
    expect(states().toSorted()).toEqual(['registered', 'retired', 'retired']);
  });

  it('refuses a destructive verb without --yes when there is no terminal, and does nothing', async () => {
    await coldiron('retire', '--all');
    const refused = await coldiron('remove', '--label', 'tier=gold');
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('this permanently ends the identity of node03: add --yes');
    expect(states()).toEqual(['retired', 'retired', 'retired']);
    expect((await coldiron('remove', '--label', 'tier=gold', '--yes')).status).toBe(0);
    expect((await coldiron('nodes', 'show', 'node03')).stdout).toMatch(/^state +removed since/m);
  });

  it('only shows the selection in a dry run', async () => {
    const run = await coldiron('release', '--in', 'registered', '--match', 'node0', '--dry-run');
    expect([run.status, run.stdout]).toEqual([0, expect.stringContaining('release: 3 nodes; this erases all disks')]);
    expect(states()).toEqual(['registered', 'registered', 'registered']);
    const json = await coldiron('release', '--site', 'lab', '--dry-run', '--json');
    expect(JSON.parse(json.stdout)).toHaveLength(3);
  });

  it('lists the reasons of every node that is refused', async () => {
    const run = await coldiron('deploy', 'node01', 'node02', '--yes');
    expect(run.status).toBe(5);
    expect(run.stderr).toContain('not_deployable, 2: node01 node02');
    expect(run.stderr).toContain('    deploy is not possible from registered');
    expect(run.stderr).toContain('    its disks are not known yet');
  });
});

describe('an invalid selection', () => {
  beforeAll(open);
  afterAll(() => api.close());

  it.each([
    [['retire'], 2, 'name a node, or select some with --all'],
    [['retire', 'node01', '--all'], 2, 'name nodes (node01), or select them with'],
    [['retire', '--rack', 'r9'], 2, 'rack: no node has the label'],
    [['retire', '--site', 'moon'], 2, 'site: there is no site'],
    [['retire', '--label', 'tier'], 2, 'label: must be key=value'],
    [['retire', '--in', 'asleep'], 2, 'Allowed choices are'],
    [['retire', '--in', 'failed'], 4, 'no node matches --in failed'],
    [['power', '--rack', 'r1', 'on'], 4, 'no node with a BMC matches --rack r1'],
    [['bootdev', 'node01', 'floppy'], 2, 'the last word is the device'],
    [['task', 'run', 'node01', 'dance'], 2, 'the last word is the kind of task'],
  ])('%j is refused with the reason', async (args, status, message) => {
    const run = await coldiron(...args);
    expect([run.status, run.stderr]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe('nodes', () => {
  beforeAll(open);
  afterAll(() => api.close());

  it('list shows the current state of a node, also when it failed before', async () => {
    await coldiron('quarantine', 'node02');
    const id = [...api.fleet.machines()].find(({ spec }) => spec.hostname === 'node02')?.id ?? expect.fail('no node02');
    const machine = (await api.store.machine(id)) ?? expect.fail('no node02');
    const lifecycle = { ...machine.lifecycle, failure: { step: 'deploy' as const, reason: 'disk' } };
    const none = { effects: [], writes: [], events: [], audit: [] };
    await api.store.commit({ ...none, command: null, at: 0, machine: id, version: machine.version, lifecycle });
    await coldiron('retire', 'node01');
    const { stdout } = await coldiron('nodes', 'list', '--in', 'quarantined');
    expect(stdout).toMatch(/^node02 +quarantined/m);
    expect(stdout).not.toContain('failed(');
    expect((await coldiron('nodes', 'list', '--match', 'zzz')).stdout).toBe(
      'No node matches zzz. List all: coldiron nodes list\n',
    );
  });

  it('show prints labels, serial, last seen and leases', async () => {
    const at = api.clock.now();
    const network = [...api.fleet.networks()][0]?.name ?? expect.fail('no network');
    const mac = [...api.fleet.machines()].find(({ spec }) => spec.hostname === 'node03')?.spec.interfaces[1]?.mac;
    if (!mac) expect.fail('no card');
    await api.store.commitLeases([
      {
        address: '10.0.100.150' as never,
        mac,
        network,
        state: 'bound',
        grantedAt: at,
        expiresAt: at + 60_000,
      } as never,
    ]);
    const { stdout } = await coldiron('nodes', 'show', 'node03');
    expect(stdout).toMatch(/^labels +rack=r1 tier=gold$/m);
    expect(stdout).toMatch(/^serial +SN-003$/m);
    expect(stdout).toMatch(/^last seen +2026-01-15T08:00:00/m);
    expect(stdout).toMatch(/^lease +10\.0\.100\.150 for 52:54:00:12:34:53 on \S+, until 2026-01-15T08:01:00/m);
  });
});

describe('API tokens', () => {
  beforeAll(open);
  afterAll(() => api.close());

  it('are created, listed and revoked', async () => {
    const made = await coldiron('api-token', 'create', 'ci', '--role', 'operator');
    expect(made.stdout).toMatch(/^ci_[0-9a-f]{12}_[\w-]{43}\n$/);
    expect((await coldiron('api-token', 'list')).stdout).toMatch(/ ci +operator +usable +never/);
    expect((await coldiron('api-token', 'revoke', 'ci')).status).toBe(0);
    expect((await coldiron('api-token', 'list')).stdout).toMatch(/ ci +operator +revoked/);
    expect((await coldiron('api-token', 'create', 'x', '--role', 'king')).status).toBe(2);
  });
});
