import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR } from '../../appliance/domain/instant.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const post = (role: Role, path: string, payload: object = {}) =>
  api.call({ role, method: 'POST', url: `/api/v1${path}`, payload });
const get = async (path: string) => (await api.call({ role: 'viewer', url: `/api/v1${path}` })).json();
const propose = async (operation = 'retireNode', role: Role = 'agent') =>
  (await post(role, '/proposals', { operation, node: 'node01', body: { note: 'it flaps' } })).json();
/** How often the node was retired. */
const retired = async () => (await get('/events?node=node01&kind=lifecycle.retired')).events.length;
const approve = (role: Role, { id, hash }: { id: string; hash: string }) =>
  post(role, `/proposals/${id}/approve`, { hash });

describe('a proposal of an agent', () => {
  it('says what would happen, and changes nothing', async () => {
    const proposal = await propose();
    expect(proposal).toMatchObject({
      state: 'proposed',
      operation: 'retireNode',
      subject: 'node:node01',
      proposed_by: 'agent:test-agent',
      by_agent: true,
      approvals_needed: 1,
      approver_role: 'operator',
      next_step: `a person, not the agent, with the role operator can approve it: coldiron proposals approve ${proposal.id}`,
    });
    expect(proposal.impact).toEqual([
      'this takes the node out of use; it can be reactivated',
      expect.stringMatching(/^node node01: registered since 2026-01-15/),
      'site lab',
      'SKU gp1',
      'profile worker',
      'allocated to nobody',
      'with note "it flaps"',
    ]);
    expect((await get('/nodes/node01')).state).toBe('registered');
    expect((await get('/proposals?open=true')).proposals).toHaveLength(1);
  });

  it('is carried out once, as the agent, when a person approves it', async () => {
    const proposal = await propose();
    const answer = (await approve('operator', proposal)).json();
    expect(answer).toMatchObject({ state: 'carried-out', approvals: [{ by: 'token:test-operator' }] });
    expect(answer.result).toMatchObject({ hostname: 'node01', state: 'retired' });
    expect(await retired()).toBe(1);
    const node = await get('/nodes/node01');
    expect(node).toMatchObject({
      state: 'retired',
      note: `it flaps; proposal ${proposal.id}, approved by token:test-operator`,
    });
    const { entries } = (await api.call({ role: 'admin', url: '/api/v1/audit?newest=true&limit=5' })).json();
    expect(entries.map(({ action, actor }: { action: string; actor: string }) => [action, actor])).toEqual(
      expect.arrayContaining([
        ['proposal.made', 'agent:test-agent'],
        ['proposal.approved', 'token:test-operator'],
        ['node.retire', 'agent:test-agent'],
        ['proposal.carried_out', 'agent:test-agent'],
      ]),
    );
    expect((await approve('admin', proposal)).statusCode).toBe(409);
    expect(await retired()).toBe(1);
  });

  it('cannot be approved by an agent, and an agent cannot do it directly', async () => {
    const proposal = await propose();
    expect((await approve('agent', proposal)).statusCode).toBe(403);
    expect((await post('agent', '/nodes/node01/retire')).statusCode).toBe(403);
    expect((await post('tech', `/proposals/${proposal.id}/approve`, { hash: proposal.hash })).json()).toMatchObject({
      code: 'forbidden',
      message: 'an approval of this needs the role operator; yours is tech',
    });
    expect((await get('/nodes/node01')).state).toBe('registered');
  });

  it('is stale when the node has changed, and says what changed', async () => {
    const proposal = await propose();
    await post('operator', '/nodes/node01/quarantine', { note: 'odd' });
    const refused = (await approve('operator', proposal)).json();
    expect(refused.code).toBe('version_conflict');
    expect(refused.details.join()).toContain('lifecycle.quarantined, by token:test-operator');
    const { state, reason } = await get(`/proposals/${proposal.id}`);
    expect([state, reason]).toEqual(['failed', expect.stringContaining('what it was planned for has changed')]);
    expect(await retired()).toBe(0);
  });

  it('expires, and the same change can be proposed again', async () => {
    const proposal = await propose();
    expect((await propose()).id).toBe(proposal.id);
    api.clock.time += HOUR;
    expect((await approve('operator', proposal)).json().message).toMatch(/^the proposal has expired at/);
    const again = await propose();
    expect(again.id).not.toBe(proposal.id);
    expect(await get(`/proposals/${proposal.id}`)).toMatchObject({ state: 'expired', reason: expect.any(String) });
  });

  it('fails with the reason of the operation, and nothing is left to approve', async () => {
    const proposal = await propose('releaseNode');
    const answer = (await approve('operator', proposal)).json();
    expect(answer).toMatchObject({ state: 'failed', result: null });
    expect(answer.reason).toContain('node01');
    expect((await get('/proposals?open=true')).proposals).toEqual([]);
  });

  it('is rejected with a reason', async () => {
    const proposal = await propose();
    const answer = (await post('operator', `/proposals/${proposal.id}/reject`, { reason: 'not tonight' })).json();
    expect(answer).toMatchObject({ state: 'rejected', reason: 'not tonight' });
    expect((await approve('admin', proposal)).json().message).toMatch(/rejected since .*: not tonight$/);
  });
});

describe('proposing', () => {
  it('is checked like a direct call, and needs a role', async () => {
    const bad = await post('agent', '/proposals', { operation: 'deployNode', node: 'node01', body: { profil: 'x' } });
    expect(bad.json()).toMatchObject({ code: 'invalid_request', message: 'profil: unknown field' });
    expect((await post('agent', '/proposals', { operation: 'rotateAuthority', node: 'node01' })).statusCode).toBe(400);
    expect((await post('agent', '/proposals', { operation: 'retireNode', node: 'nobody' })).statusCode).toBe(404);
    expect((await post('tech', '/proposals', { operation: 'retireNode', node: 'node01' })).statusCode).toBe(403);
  });

  it('by a person needs another person', async () => {
    const proposal = await propose('retireNode', 'operator');
    expect(proposal.by_agent).toBe(false);
    expect((await approve('operator', proposal)).json().message).toMatch(/made this proposal/);
    expect((await approve('admin', proposal)).json().state).toBe('carried-out');
  });
});
