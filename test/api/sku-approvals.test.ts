import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const post = (role: Role, path: string, payload: object = {}) =>
  api.call({ role, method: 'POST', url: `/api/v1${path}`, payload });
const get = async (path: string) => (await api.call({ role: 'viewer', url: `/api/v1${path}` })).json();
const withSku = (name: string, changes: object) => ({
  ...RACK,
  skus: RACK.skus.map((sku) => (sku.name === name ? { ...sku, ...changes } : sku)),
});
const apply = (document: object) => post('admin', '/inventory/apply', { sources: [{ name: 'rack', document }] });
const sku = async (name: string) =>
  (await get('/skus')).skus.find((each: { name: string }) => each.name === name) as { owner: string; minimum: object };
const open = async () => (await get('/proposals?open=true')).proposals;
const approve = (role: Role, { id, hash }: { id: string; hash: string }) =>
  post(role, `/proposals/${id}/approve`, { hash });

const CHANGED = withSku('gp1', { owner: 'ops', minimum: { cores: 16, memory: '64GiB' } });

async function applyApproved(document: object): Promise<void> {
  await apply(document);
  const [proposal] = await open();
  await approve('operator', proposal);
  await approve('admin', proposal);
  expect((await apply(document)).statusCode).toBe(200);
}

describe('a change of a SKU that nodes use', () => {
  it('is refused by apply with a proposal that lists what changes and the nodes', async () => {
    const refused = await apply(CHANGED);
    const [proposal] = await open();
    expect([refused.statusCode, refused.json().code]).toEqual([409, 'approval_required']);
    expect(refused.json().details).toEqual([`sku gp1: 3 nodes use it; proposal ${proposal.id}, no approval yet`]);
    expect(refused.json().hint).toContain(`coldiron proposals approve ${proposal.id}`);
    expect(proposal.impact).toEqual([
      expect.stringMatching(/^changes owner: \(none\) -> ops/),
      expect.stringMatching(/^changes minimum/),
      ...['node01', 'node02', 'node03'].map((node) => `node ${node}: registered`),
    ]);
    expect(proposal).toMatchObject({ approvals_needed: 2, different_roles: true, carried_out_by: 'apply' });
    expect((await sku('gp1')).owner).toBeNull();
    await apply(CHANGED);
    expect(await open()).toHaveLength(1);
  });

  it('goes through with the same apply after two approvals with different roles, once', async () => {
    await apply(CHANGED);
    const [proposal] = await open();
    expect((await approve('operator', proposal)).json().state).toBe('proposed');
    const half = await apply(CHANGED);
    expect(half.json().details[0]).toContain('approved by token:test-operator');
    expect((await approve('admin', proposal)).json()).toMatchObject({
      state: 'approved',
      next_step: 'apply the same files again',
    });
    const more = withSku('gp1', { owner: 'ops', minimum: { cores: 32 } });
    expect((await apply(more)).json().code).toBe('approval_required');
    expect((await sku('gp1')).owner).toBeNull();

    expect((await apply(CHANGED)).statusCode).toBe(200);
    expect((await sku('gp1')).owner).toBe('ops');
    expect(await get(`/proposals/${proposal.id}`)).toMatchObject({ state: 'carried-out' });
    // Back and forth again is another change, which that approval is not for.
    expect((await apply(RACK)).json().code).toBe('approval_required');
    expect((await sku('gp1')).owner).toBe('ops');
  });

  it('does not go through with an approval that is too old', async () => {
    await apply(CHANGED);
    const [proposal] = await open();
    await approve('operator', proposal);
    await approve('admin', proposal);
    api.clock.time += 7 * DAY;
    expect((await apply(CHANGED)).json().code).toBe('approval_required');
    expect(await get(`/proposals/${proposal.id}`)).toMatchObject({ state: 'expired' });
    expect((await open())[0].id).not.toBe(proposal.id);
  });

  it('needs no approval when no node uses it', async () => {
    expect((await apply(withSku('h100', { owner: 'ops' }))).statusCode).toBe(200);
    expect((await sku('h100')).owner).toBe('ops');
    expect(await open()).toEqual([]);
  });
});

describe('the rollback of a SKU', () => {
  it('restores the version before the last approved change, with two approvals, and can itself be rolled back', async () => {
    await applyApproved(CHANGED);
    const proposed = (await post('operator', '/skus/gp1/rollback')).json();
    expect(proposed).toMatchObject({
      state: 'proposed',
      subject: 'sku:gp1',
      approvals_needed: 2,
      different_roles: true,
    });
    expect(proposed.impact).toContain('node node01: registered');
    expect((await approve('operator', proposed)).json().state).toBe('proposed');
    expect((await sku('gp1')).owner).toBe('ops');
    expect((await approve('admin', proposed)).json()).toMatchObject({ state: 'carried-out' });
    expect(await sku('gp1')).toMatchObject({ owner: null, minimum: null });
    const { entries } = (await api.call({ role: 'admin', url: '/api/v1/audit?newest=true&limit=3' })).json();
    expect(entries.map(({ action }: { action: string }) => action)).toContain('inventory.sku.changed');
    const back = (await post('operator', '/skus/gp1/rollback')).json();
    expect(back.impact[0]).toMatch(/owner: \(none\) -> ops/);
    // The file still declares the other version: applying it is a change that needs approval.
    expect((await apply(CHANGED)).json().code).toBe('approval_required');
    expect((await apply(RACK)).statusCode).toBe(200);
  });

  it('is refused without an earlier version, and for an unknown SKU', async () => {
    expect((await post('operator', '/skus/gp1/rollback')).json()).toMatchObject({ code: 'conflict' });
    expect((await post('operator', '/skus/nothing/rollback')).statusCode).toBe(404);
  });
});
