import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

/** The rack of the other tests with a cluster, whose members need a certificate. */
const CLUSTER = {
  ...RACK,
  clusters: [{ name: 'c1', network: 'provisioning', bootstrap: ['node01'] }],
  nodes: RACK.nodes.map((node) => ({ ...node, cluster: 'c1' })),
};

let api: Fixture;
beforeAll(async () => {
  api = await openApi();
  expect((await apply(CLUSTER)).statusCode).toBe(200);
});
afterAll(() => api.close());

const apply = (document: object, more: object = {}) =>
  api.call({
    method: 'POST',
    url: '/api/v1/inventory/apply',
    role: 'admin',
    payload: { sources: [{ name: 'rack', document }], ...more },
  });
const get = (path: string, role: 'viewer' | 'operator' | 'admin' = 'operator') =>
  api.call({ method: 'GET', url: `/api/v1${path}`, role });
const create = (role: 'operator' | 'admin') =>
  api.call({ method: 'POST', url: '/api/v1/nodes/node01/rendering', role, payload: {} });
const files = (body: { files: { path: string; secret: boolean; text: string | null }[] }) => body.files;

describe('renderings over the API', () => {
  it('show an operator all files without secrets, and a viewer nothing', async () => {
    const answer = await get('/nodes/node01/rendering');
    expect(answer.statusCode).toBe(200);
    const body = answer.json();
    expect(body).toMatchObject({ node: 'node01', kind: 'nixos', inventory_revision: 2 });
    expect(files(body).some(({ path }) => path.endsWith('/configuration.nix'))).toBe(true);
    expect(files(body).filter(({ secret }) => secret)).toEqual([]);
    expect(body.missing).toEqual([expect.stringContaining('to an admin')]);
    expect((await get('/nodes/node01/rendering', 'viewer')).statusCode).toBe(403);
  });

  it('return keys only to admins, and audit who received them', async () => {
    expect((await create('operator')).statusCode).toBe(403);
    const answer = await create('admin');
    expect(answer.statusCode).toBe(200);
    expect(files(answer.json()).find(({ secret }) => secret)).toMatchObject({ text: 'a private key' });
    const [entry] = await api.store.auditEntries(0, 1, true);
    expect(entry).toMatchObject({
      action: 'rendering.secrets-handed-over',
      target: 'node:node01',
      actor: 'token:test-admin',
    });
    expect(api.log.text).not.toContain('a private key');
  });

  it('show the changes since the last delivery, in a dry run and afterwards', async () => {
    await create('admin');
    const edited = {
      ...CLUSTER,
      nodes: CLUSTER.nodes.map((node) => (node.name === 'node01' ? { ...node, packages: ['htop'] } : node)),
    };
    const dry = (await apply(edited, { dry_run: true })).json();
    expect(dry.renderings).toEqual([
      {
        node: 'node01',
        reasons: [],
        files: [{ path: 'nodes/node01/configuration.nix', change: 'changed', added: 1, removed: 1 }],
      },
    ]);
    const planned = (await apply(edited, { dry_run: true, diff: true })).json();
    expect(planned.renderings[0].files[0].diff).toContain('"htop"');
    expect((await get('/nodes/node01/rendering/difference')).json().files).toEqual([]);
    const done = (await apply(edited)).json();
    expect(done).not.toHaveProperty('renderings');
    const since = (await get('/nodes/node01/rendering/difference')).json();
    expect(since).toMatchObject({
      node: 'node01',
      since: { by: 'folder', inventory_revision: 2 },
      inventory_revision: 3,
      files: [{ path: 'nodes/node01/configuration.nix', diff: expect.stringContaining('+++ b/nodes/node01/') }],
    });
  });

  it('return a whole site in one document', async () => {
    const answer = await get('/sites/lab/rendering');
    expect(answer.headers['content-type']).toContain('application/json');
    const body = answer.json();
    expect(body).toMatchObject({ site: 'lab', left_out: [] });
    expect(files(body).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['flake.nix', 'hosts', 'nodes/node03/configuration.nix', 'ansible/inventory.yaml']),
    );
  });

  it.each([
    ['/nodes/nobody/rendering', 404],
    ['/nodes/nobody/rendering/difference', 404],
    ['/sites/nowhere/rendering', 404],
  ])('GET %s is answered with %i', async (path, status) => {
    expect((await get(path)).statusCode).toBe(status);
  });
});
