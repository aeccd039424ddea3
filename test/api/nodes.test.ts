import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, openApi } from './api-fixture.ts';

// Read-only tests share one API; tests that write get their own.
let shared: Fixture;
let api: Fixture;
beforeAll(async () => {
  shared = await openApi();
  api = shared;
});
afterAll(() => shared.close());

function withAnApiOfItsOwn(): void {
  beforeEach(async () => {
    api = await openApi();
  });
  afterEach(async () => {
    await api.close();
    api = shared;
  });
}

const get = async (url: string) => (await api.call({ role: 'viewer', url })).json();
/** BMC fields need the role admin. */
const post = (url: string, payload: object) => api.call({ role: 'admin', method: 'POST', url, payload });
const names = async (query: string): Promise<string[]> =>
  (await get(`/api/v1/nodes${query}`)).nodes.map(({ hostname }: { hostname: string }) => hostname);

const NODE09 = {
  name: 'node09',
  sku: 'gp1',
  profile: 'worker',
  interfaces: [{ name: 'eth0', mac: '52-54-00-12-34-99', network: 'provisioning', address: '10.0.100.99' }],
  bmc: { address: '10.0.10.9', username: 'ops', password_file: '/run/secrets/bmc' },
  labels: { rack: 'r7' },
};

describe('the list of nodes', () => {
  it.each([
    ['', ['node01', 'node02', 'node03']],
    ['?state=registered', ['node01', 'node02', 'node03']],
    ['?state=active', []],
    ['?site=lab&profile=worker', ['node01', 'node02', 'node03']],
    ['?label=rack%3Dr1', ['node02', 'node03']],
    ['?rack=r1&label=tier%3Dgold', ['node03']],
    ['?label=rack%3Dr1&label=tier%3Dgold', ['node03']],
    ['?bmc=true', []],
    ['?bmc=false', ['node01', 'node02', 'node03']],
    ['?q=NODE02', ['node02']],
    ['?q=12:34:53', ['node03']],
    ['?q=10.0.100.51', ['node01']],
    ['?q=sn-002', ['node02']],
    ['?after=node01', ['node02', 'node03']],
    ['?after=node03', []],
  ])('filtered by "%s" contains %j', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  it.each([
    ['site=elsewhere', 'site: there is no site elsewhere; there are lab'],
    ['cluster=kube', 'cluster: there is no cluster kube; there is none'],
    ['profile=nothing', 'profile: there is no profile nothing; there are worker'],
    ['rack=r9', 'rack: no node has the label rack=r9; there are r1'],
    ['label=tier%3Dtin', 'label: no node has the label tier=tin; there are gold'],
    ['label=row%3D3', 'label: no node has the label row=3; no node has a label row'],
    ['label=constructor%3Dx', 'label: no node has the label constructor=x; no node has a label constructor'],
    ['label=tier', 'label: must be key=value, not tier'],
    ['label=', 'label: must be key=value, not '],
  ])('refuses %s and lists the existing names', async (query, message) => {
    const answer = await api.call({ role: 'viewer', url: `/api/v1/nodes?${query}` });
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_request']);
    expect(answer.json().message.replaceAll('"', '')).toBe(message);
  });

  it('is complete over all its pages', async () => {
    const first = await get('/api/v1/nodes?limit=2');
    expect(first).toMatchObject({ total: 3, next: 'node02' });
    const second = await get(`/api/v1/nodes?limit=2&after=${first.next}`);
    expect(second).toMatchObject({ total: 3, next: null });
    expect([...first.nodes, ...second.nodes].map(({ hostname }) => hostname)).toEqual(['node01', 'node02', 'node03']);
  });

  it.each(['limit=0', 'limit=1001', 'limit=', 'limit=1.5', 'limit=-1', 'limit=true', 'limit=1&limit=2', 'state=happy'])(
    'refuses ?%s',
    async (query) => {
      const answer = await api.call({ role: 'viewer', url: `/api/v1/nodes?${query}` });
      expect(answer.json()).toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(new RegExp(`^${query.split('=')[0]}: must be`)),
      });
    },
  );
});

describe('one node', () => {
  it('is found by id, host name and MAC address in any notation', async () => {
    const { id } = await get('/api/v1/nodes/node01');
    for (const reference of [
      id,
      'NODE01',
      '52:54:00:12:34:51',
      '52-54-00-12-34-51',
      '5254.0012.3451',
      '525400123451',
    ]) {
      expect((await get(`/api/v1/nodes/${reference}`)).hostname).toBe('node01');
    }
  });

  it('shows its declaration, its state, and what it waits for', async () => {
    expect(await get('/api/v1/nodes/node02')).toEqual({
      id: expect.any(String),
      hostname: 'node02',
      state: 'registered',
      since: '2026-01-15T08:00:00.000Z',
      deadline: null,
      resume: null,
      failure: null,
      note: null,
      waits_for: 'It waits for an operator to commission it.',
      next_step: expect.stringMatching(/^Commission it/),
      health: 'unknown',
      site: 'lab',
      sku: 'gp1',
      profile: 'worker',
      cluster: null,
      architecture: 'x86_64',
      uuid: '00000000-0000-4000-8000-000000000002',
      serial: 'SN-002',
      identity: {
        level: 'asserted',
        summary: 'asserted: its hardware was not recorded yet; commission it',
        bound_at: null,
        uuid: null,
        serial: null,
        macs: [],
        tpm: null,
        pending: null,
      },
      erasure: null,
      not_erased: null,
      maas_system_id: null,
      secure_boot: null,
      plain_pxe: false,
      gpus: null,
      region: null,
      interfaces: [
        {
          ...{ name: 'eth1', mac: '52:54:00:22:34:52', network: 'storage', address: null },
          switch: { name: 'sw3', port: 'Ethernet1/2' },
        },
        { name: 'eth0', mac: '52:54:00:12:34:52', network: 'provisioning', address: '10.0.100.52', switch: null },
      ],
      bmc: null,
      access: null,
      enrollment: null,
      labels: { rack: 'r1' },
      source: 'rack',
      intent: null,
      allocation: null,
      version: 1,
      revision: expect.any(Number),
    });
  });
});

describe('adding a node', () => {
  withAnApiOfItsOwn();

  it('accepts the format of an inventory file and returns the node', async () => {
    const answer = await post('/api/v1/nodes', NODE09);
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toMatchObject({
      hostname: 'node09',
      state: 'registered',
      source: 'api',
      interfaces: [{ mac: '52:54:00:12:34:99' }],
      bmc: { address: '10.0.10.9', driver: 'ipmi', username: 'ops' },
      labels: { rack: 'r7' },
    });
    expect(answer.body).not.toContain('/run/secrets');
    expect(await get('/api/v1/nodes/5254.0012.3499')).toEqual(answer.json());
    expect(await names('?q=node09')).toEqual(['node09']);
  });

  it('is audited under the name of the caller', async () => {
    const { id } = (await post('/api/v1/nodes', NODE09)).json();
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({
      actor: 'token:test-admin',
      target: 'node:node09',
    });
    expect(await get(`/api/v1/events?node=${id}`)).toMatchObject({ events: [{ kind: 'node.created', node: id }] });
  });

  it('refuses an existing name, and changes nothing', async () => {
    const answer = await post('/api/v1/nodes', { ...NODE09, name: 'node01' });
    expect(answer.json()).toMatchObject({ code: 'conflict', message: 'the node node01 already exists, from rack' });
    expect(await get('/api/v1/nodes/node01')).toMatchObject({ source: 'rack', version: 1 });
  });

  it('lists all problems with their fields', async () => {
    const { code, details } = (
      await post('/api/v1/nodes', {
        ...NODE09,
        sku: 'gp9',
        bmc: { address: '10.0.10.9', password: 'hunter2' },
        interfaces: [{ name: 'eth0', mac: '52:54:00:12:34:zz', network: 'provisioning', address: '10.0.101.1' }],
      })
    ).json();
    expect(code).toBe('invalid_inventory');
    expect(details).toContain('request: nodes[0].interfaces[0].mac: not a MAC address: 52:54:00:12:34:zz');
    expect(details.join('\n')).toMatch(/nodes\[0\]\.sku: .*gp9/);
    expect(details.join('\n')).toMatch(/password/);
    expect(details.join('\n')).not.toContain('hunter2');
  });

  it.each([
    [
      'a MAC',
      { interfaces: [{ name: 'eth0', mac: '52:54:00:12:34:51', network: 'provisioning' }] },
      /52:54:00:12:34:51/,
    ],
    [
      'an address',
      { interfaces: [{ name: 'eth0', network: 'provisioning', address: '10.0.100.51' }] },
      /10\.0\.100\.51/,
    ],
  ])('refuses %s that another node has', async (_what, change, message) => {
    const answer = (await post('/api/v1/nodes', { ...NODE09, ...change })).json();
    expect(answer).toMatchObject({ code: 'invalid_inventory', message: expect.stringMatching(message) });
    expect(answer.message).toMatch(/node01/);
  });
});

describe('importing nodes', () => {
  withAnApiOfItsOwn();

  const TWO = [NODE09, { ...NODE09, name: 'node08', bmc: undefined, interfaces: [] }];

  it('adds all nodes, and changes nothing the second time', async () => {
    const first = (await post('/api/v1/nodes/import', { nodes: TWO })).json();
    expect(first).toMatchObject({ dry_run: false, changes: [{ change: 'created' }, { change: 'created' }] });
    expect(await names('?q=node0')).toEqual(['node01', 'node02', 'node03', 'node08', 'node09']);
    const second = (await post('/api/v1/nodes/import', { nodes: TWO })).json();
    expect(second).toMatchObject({ revision: first.revision, changes: [], unchanged: 2 });
  });

  it('removes nothing: nodes of an earlier import stay', async () => {
    await post('/api/v1/nodes/import', { nodes: [NODE09] });
    await post('/api/v1/nodes/import', { nodes: [{ ...NODE09, name: 'node08', bmc: undefined, interfaces: [] }] });
    expect(await names('?q=node0')).toEqual(['node01', 'node02', 'node03', 'node08', 'node09']);
  });

  it('changes all nodes or none', async () => {
    const answer = await post('/api/v1/nodes/import', { nodes: [NODE09, { ...NODE09, name: 'node08' }] });
    expect(answer.json()).toMatchObject({ code: 'invalid_inventory' });
    expect(await names('')).toHaveLength(3);
  });

  it('changes nothing in a dry run', async () => {
    const answer = await post('/api/v1/nodes/import', { nodes: TWO, dry_run: true });
    expect(answer.json()).toMatchObject({ dry_run: true, changes: [{ change: 'created' }, { change: 'created' }] });
    expect(await names('')).toHaveLength(3);
  });
});
