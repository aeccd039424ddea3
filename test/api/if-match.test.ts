import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const post = (path: string, ifMatch: string | null, payload: object = {}) =>
  api.call({
    role: 'admin',
    method: 'POST',
    url: `/api/v1${path}`,
    payload,
    headers: ifMatch === null ? {} : { 'if-match': ifMatch },
  });
const node = () => api.call({ role: 'viewer', url: '/api/v1/nodes/node01' });

describe('If-Match on a write to a node', () => {
  it('matches the ETag of the node, which changes with every change of the node', async () => {
    const { etag } = (await node()).headers;
    expect(etag).toBe(`"${(await node()).json().version}"`);
    const retired = await post('/nodes/node01/retire', String(etag));
    expect(retired.statusCode).toBe(200);
    expect(retired.headers.etag).not.toBe(etag);
    expect((await node()).headers.etag).toBe(retired.headers.etag);
  });

  it('refuses an old version with 412, lists the changes, and does nothing', async () => {
    const { etag } = (await node()).headers;
    await post('/nodes/node01/retire', null);
    const refused = await post('/nodes/node01/reactivate', String(etag));
    expect([refused.statusCode, refused.json().code]).toEqual([412, 'version_conflict']);
    expect(refused.json().message).toMatch(/^node01 has version \d+ now, not \d+$/);
    expect(refused.json().details).toEqual([
      expect.stringMatching(/^its state is retired, since 2026-01-15/),
      'the last changes:',
      expect.stringContaining('node.created'),
      expect.stringMatching(/lifecycle\.retired, by token:test-admin$/),
    ]);
    expect((await node()).json().state).toBe('retired');
  });

  it('takes a list of versions, and * for any', async () => {
    const { version } = (await node()).json();
    expect((await post('/nodes/node01/retire', `"99", "${version}"`)).statusCode).toBe(200);
    expect((await post('/nodes/node01/reactivate', '*')).statusCode).toBe(200);
    expect((await post('/nodes/nobody/retire', '*')).statusCode).toBe(404);
  });

  it.each([
    ['a bare number', '7', 'If-Match: must be * or an ETag like "7"'],
    ['a weak ETag', 'W/"7"', 'a weak ETag never matches'],
    ['something else', '"x"', 'If-Match: must be * or an ETag like "7"'],
  ])('refuses %s', async (_what, header, message) => {
    const refused = await post('/nodes/node01/retire', header);
    expect([refused.statusCode, refused.json().message]).toEqual([400, expect.stringContaining(message)]);
    expect((await node()).json().state).toBe('registered');
  });

  it('is checked before the BMC is used', async () => {
    const refused = await post('/nodes/node01/power', '"99"', { action: 'off' });
    expect(refused.statusCode).toBe(412);
  });

  it('is refused for an object without a version', async () => {
    const refused = await post('/tokens', '"1"', { name: 'ci', role: 'viewer' });
    expect([refused.statusCode, refused.json().message]).toEqual([
      400,
      'If-Match: this operation changes an object without a version',
    ]);
  });
});

describe('If-Match on the inventory', () => {
  const apply = (ifMatch: string | null, changes: object = {}) =>
    post('/inventory/apply', ifMatch, { sources: [{ name: 'rack', document: RACK }], ...changes });

  it('allows a plan only for the revision that it was made from', async () => {
    const plan = await apply(null, { dry_run: true });
    const etag = String(plan.headers.etag);
    expect(etag).toBe(`"${plan.json().declared_revision}"`);
    expect((await apply(etag)).statusCode).toBe(200);
    await post('/nodes', null, { name: 'other', sku: 'gp1' });
    const refused = await apply(etag);
    expect([refused.statusCode, refused.json().code]).toEqual([412, 'version_conflict']);
    expect(refused.json().message).toMatch(/^the declared inventory has revision \d+ now, not \d+$/);
    expect(refused.json().details.at(-1)).toContain('node:other, by token:test-admin');
    expect((await apply(etag, { dry_run: true })).statusCode).toBe(412);
    expect((await apply('*')).statusCode).toBe(200);
  });

  it('is checked again at the commit, and refuses a change in between', async () => {
    const etag = String((await apply(null, { dry_run: true })).headers.etag);
    const { inventory } = api.store;
    let raced = false;
    Object.assign(api.store, {
      inventory: async () => {
        if (!raced) {
          raced = true;
          await post('/nodes', null, { name: 'other', sku: 'gp1' });
        }
        return inventory();
      },
    });
    const refused = await post('/nodes/import', etag, { nodes: [{ name: 'third', sku: 'gp1' }] });
    expect([raced, refused.statusCode]).toEqual([true, 412]);
  });
});
