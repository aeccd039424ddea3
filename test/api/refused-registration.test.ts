import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA ops@example.com';
const HOST = {
  ...{ host: '10.0.200.77', port: 22, ssh_username: 'hpcadmin', ssh_public_key: KEY, sku: 'h100', gpus_total: 8 },
  ...{ region_code: 'region-1', onboarding_mode: 'manual' },
};

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const post = (url: string, payload: object, role: 'operator' | 'admin' = 'admin') =>
  api.call({ role, method: 'POST', url: `/api/v1${url}`, payload });
const alerts = () => api.store.events({ kind: 'registration.refused', limit: 10 });
const audited = async () =>
  (await api.store.auditEntries(0, 1000)).filter(({ action }) => action === 'node.registration-refused');
const node = (change: object) => ({
  name: 'node09',
  sku: 'gp1',
  interfaces: [{ name: 'eth0', mac: '52:54:00:99:00:01', network: 'provisioning' }],
  ...change,
});

describe('a refused registration', () => {
  it('of a running host is audited, and raises an alert with the envelope and the runbook', async () => {
    const answer = await post('/admin/nodes', { ...HOST, gpus_total: 4, region_code: 'moon' });
    expect(answer.statusCode).toBe(422);
    const data = {
      nodes: ['10.0.200.77'],
      skus: ['h100'],
      owners: [],
      code: 'invalid_sku',
      reasons: ['gpus_total: h100 has 8, not 4', 'region_code: h100 is offered in region-1, region-2, not in moon'],
      runbook: 'docs/runbooks/refused-registration.md',
    };
    const { correlation_id } = answer.json();
    expect(await alerts()).toMatchObject([{ actor: 'token:test-admin', correlationId: correlation_id, data }]);
    expect(await audited()).toMatchObject([
      { actor: 'token:test-admin', target: 'node:10.0.200.77', correlationId: correlation_id, after: data },
    ]);
  });

  it('names the owner of the SKU', async () => {
    const skus = RACK.skus.map((sku) => (sku.name === 'h100' ? { ...sku, owner: 'gpu-team' } : sku));
    const applied = await post('/inventory/apply', { sources: [{ name: 'rack', document: { ...RACK, skus } }] });
    expect(applied.statusCode, applied.body).toBe(200);
    await post('/admin/nodes', { ...HOST, gpus_total: 4 });
    expect(await alerts()).toMatchObject([{ data: { owners: ['gpu-team'] } }]);
  });

  it('of nodes in a file names those with a wrong SKU; other problems of the file raise no alert', async () => {
    const apply = (nodes: object[], dryRun = false) =>
      post('/inventory/apply', { sources: [{ name: 'more', document: { nodes } }], dry_run: dryRun });
    const wrong = [node({ sku: 'gp1' }), node({ name: 'node10', sku: 'nope', interfaces: [] })];
    expect((await apply(wrong, true)).statusCode).toBe(400);
    expect((await apply([node({ profile: 'nothing' })])).statusCode).toBe(400);
    expect(await alerts()).toEqual([]);
    expect((await apply(wrong)).statusCode).toBe(400);
    expect(await alerts()).toMatchObject([
      {
        data: {
          nodes: ['node10'],
          skus: ['nope'],
          code: 'invalid_inventory',
          reasons: [expect.stringContaining('nope')],
        },
      },
    ]);
    expect(await audited()).toHaveLength(1);
  });

  it.each([
    ['an unknown SKU', { sku: 'nope' }, 400],
    ['an inactive SKU', { sku: 'v100' }, 400],
    ['a name that is taken', { name: 'node01' }, 409],
  ])('of a declared node with %s is recorded as well', async (_, change, status) => {
    expect((await post('/nodes', node(change), 'operator')).statusCode).toBe(status);
    expect([await alerts(), await audited()]).toMatchObject([
      [{ actor: 'token:test-operator' }],
      [{ actor: 'token:test-operator' }],
    ]);
  });

  it('of imported nodes names them; a dry run records nothing', async () => {
    const nodes = [node({ name: 'node08' }), node({ sku: 'nope\u001b[2J' })];
    expect((await post('/nodes/import', { nodes, dry_run: true }, 'operator')).statusCode).toBe(400);
    expect(await alerts()).toEqual([]);
    expect((await post('/nodes/import', { nodes }, 'operator')).statusCode).toBe(400);
    expect(await alerts()).toMatchObject([{ data: { nodes: ['node08', 'node09'], skus: ['gp1', 'nope\\u001b[2J'] } }]);
  });

  it('is not what a successful one, or a missing right, leaves behind', async () => {
    expect((await post('/admin/nodes', HOST)).statusCode).toBe(201);
    expect((await post('/admin/nodes', HOST, 'operator')).statusCode).toBe(403);
    expect([await alerts(), await audited()]).toEqual([[], []]);
  });
});
