import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const apply = (sources: object[], dryRun = false) =>
  api.call({
    role: 'admin',
    method: 'POST',
    url: '/api/v1/inventory/apply',
    payload: { sources, ...(dryRun && { dry_run: true }) },
  });
const get = async (url: string) => (await api.call({ role: 'viewer', url })).json();
const without = (name: string) => ({ ...RACK, nodes: RACK.nodes.filter((node) => node.name !== name) });

describe('applying an inventory', () => {
  it('removes objects that are no longer in their source, and readers see it at once', async () => {
    const answer = (await apply([{ name: 'rack', document: without('node03') }])).json();
    expect(answer.changes).toContainEqual({
      kind: 'node',
      name: 'node03',
      source: 'rack',
      change: 'removed',
      details: [],
    });
    expect((await get('/api/v1/nodes')).nodes).toHaveLength(2);
  });

  it('changes nothing when nothing has changed', async () => {
    const { revision } = (await apply([{ name: 'rack', document: RACK }], true)).json();
    const answer = (await apply([{ name: 'rack', document: RACK }])).json();
    expect(answer).toMatchObject({ dry_run: false, revision, changes: [] });
    expect(answer.unchanged).toBeGreaterThan(3);
  });

  it('changes nothing in a dry run', async () => {
    expect((await apply([{ name: 'rack', document: without('node03') }], true)).json()).toMatchObject({
      dry_run: true,
    });
    expect((await get('/api/v1/nodes')).nodes).toHaveLength(3);
  });

  it('does not change objects of other sources and of the API', async () => {
    await api.call({
      role: 'operator',
      method: 'POST',
      url: '/api/v1/nodes',
      payload: { name: 'node09', sku: 'gp1', profile: 'worker' },
    });
    expect((await apply([{ name: 'rack2', document: {} }])).statusCode).toBe(200);
    expect((await get('/api/v1/nodes')).total).toBe(4);
  });

  it('names the file of a document in messages', async () => {
    const document = { nodes: [{ name: 'NODE', sku: 'gp1', profile: 'worker' }] };
    expect((await apply([{ name: 'lab', file: 'inventory/lab.yaml', document }])).json()).toMatchObject({
      code: 'invalid_inventory',
      message: expect.stringMatching(/^inventory\/lab\.yaml: nodes\[0\]\.name: /),
    });
  });

  it.each([
    ['api', /is reserved for objects that are added over the API/],
    ['network', /is reserved for discovered machines/],
    ['site', /coldiron\.yaml/],
    ['../rack', /not a name/],
  ])('refuses the reserved source name %s', async (name, message) => {
    expect((await apply([{ name, document: {} }])).json()).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(message),
    });
    expect((await get('/api/v1/nodes')).total).toBe(3);
  });

  it('refuses two sources with the same name', async () => {
    const twice = [
      { name: 'rack', document: RACK },
      { name: 'rack', document: {} },
    ];
    expect((await apply(twice)).json()).toMatchObject({ message: 'sources[1].name: rack occurs twice' });
  });

  it('refuses everything, with a line for each reason, when a removed node is in use', async () => {
    await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes/node03/quarantine' });
    const answer = await apply([{ name: 'rack', document: { ...without('node03'), profiles: [] } }]);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect((await get('/api/v1/nodes')).total).toBe(3);
    const alone = await apply([{ name: 'rack', document: without('node03') }]);
    expect(alone.json()).toMatchObject({
      code: 'node_in_use',
      details: [expect.stringMatching(/node node03: .*quarantined/)],
    });
  });

  it('accepts a body of 2 MiB, where other routes accept 1 MiB', async () => {
    const nodes = Array.from({ length: 4000 }, (_, n) => ({
      name: `bulk${n}`,
      sku: 'gp1',
      profile: 'worker',
      labels: { filler: 'x'.repeat(250), more: 'y'.repeat(250) },
    }));
    const answer = await apply([{ name: 'bulk', document: { nodes } }]);
    expect(answer.statusCode).toBe(200);
    expect((await get('/api/v1/nodes?q=bulk&limit=1')).total).toBe(4000);
  });
});

describe('the catalogue', () => {
  it('uses the format of the files', async () => {
    expect(await get('/api/v1/sites')).toEqual({
      sites: [{ name: 'lab', domain: null, region: 'region-1', bmc_mode: 'recorder' }],
    });
    expect((await get('/api/v1/networks')).networks[0]).toMatchObject({
      name: 'provisioning',
      site: 'lab',
      prefix: '10.0.100.0/24',
      server: '10.0.100.10',
      pools: [{ from: '10.0.100.100', to: '10.0.100.200' }],
      dhcp: 'off',
      efi_loader: 'snponly',
      secure_boot: false,
    });
    expect((await get('/api/v1/skus')).skus).toContainEqual({
      name: 'h100',
      description: '',
      active: true,
      architecture: 'x86_64',
      gpus: 8,
      regions: ['region-1', 'region-2'],
      owner: null,
      minimum: null,
      hardware: 'warn',
    });
    expect((await get('/api/v1/profiles')).profiles[0]).toMatchObject({
      name: 'worker',
      kind: 'nixos',
      deploy_minutes: 60,
    });
    expect(await get('/api/v1/clusters')).toEqual({ clusters: [] });
  });

  it('shows a cluster with its members', async () => {
    const document = { clusters: [{ name: 'prod', network: 'provisioning', bootstrap: [] }] };
    await apply([{ name: 'prod', document }]);
    expect((await get('/api/v1/clusters')).clusters).toEqual([
      { name: 'prod', site: 'lab', domain: null, network: 'provisioning', bootstrap: [], vip: null },
    ]);
  });
});
