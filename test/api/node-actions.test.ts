import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const act = (action: string, payload: object = {}, role: Role = 'operator') =>
  api.call({ role, method: 'POST', url: `/api/v1/nodes/node01/${action}`, payload });
const state = async () => (await api.call({ role: 'viewer', url: '/api/v1/nodes/node01' })).json().state;

describe('the lifecycle of a node', () => {
  it('is retired, reactivated and retired again', async () => {
    expect((await act('retire', { note: 'PSU swap' })).json()).toMatchObject({
      hostname: 'node01',
      state: 'retired',
      resume: 'registered',
      note: 'PSU swap',
    });
    expect(await state()).toBe('retired');
    expect((await act('reactivate')).json()).toMatchObject({ state: 'registered' });
    expect((await act('retire')).json()).toMatchObject({ state: 'retired', note: null });
  });

  it('needs no body for a command without input', async () => {
    const answer = await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes/node01/retire' });
    expect(answer.json()).toMatchObject({ state: 'retired' });
  });

  it('is quarantined and cleared, and the reason is stored', async () => {
    expect((await act('quarantine', { note: 'unknown chassis' })).json()).toMatchObject({
      state: 'quarantined',
      note: 'unknown chassis',
      waits_for: expect.stringMatching(/operator/),
    });
    expect((await act('clear-quarantine')).json()).toMatchObject({ state: 'registered' });
  });

  it('refuses to remove a node in use, with the next step', async () => {
    expect((await act('remove', { confirm: 'node01' }, 'admin')).json()).toMatchObject({
      hint: 'Retire it first: coldiron retire node01; then remove it.',
    });
  });

  it('is deleted only when the node is retired, the caller is an admin, and the host name is confirmed', async () => {
    const confirm = { confirm: 'node01' };
    expect((await act('remove', confirm, 'admin')).statusCode).toBe(409);
    await act('retire');
    expect((await act('remove', confirm, 'operator')).json()).toMatchObject({ code: 'forbidden' });
    expect((await act('remove', {}, 'admin')).json()).toMatchObject({ message: 'confirm: missing' });
    expect((await act('remove', { confirm: 'node02' }, 'admin')).json()).toMatchObject({
      code: 'invalid_request',
      message: "confirm: must be the node's host name, node01",
    });
    expect(await state()).toBe('retired');

    const removed = (await act('remove', confirm, 'admin')).json();
    expect(removed).toMatchObject({ state: 'removed' });
    for (const reference of [removed.id, 'node01', '52:54:00:12:34:51']) {
      const shown = await api.call({ role: 'viewer', url: `/api/v1/nodes/${reference}` });
      expect(shown.json()).toMatchObject({ id: removed.id, hostname: 'node01', state: 'removed' });
    }
    // Its boot screen shows its name and MAC address.
    for (const reference of ['node01', '52:54:00:12:34:51']) {
      const url = `/api/v1/events?kind=lifecycle&newest=true&node=${reference}`;
      const { events } = (await api.call({ role: 'viewer', url })).json();
      expect(events.at(-1)).toMatchObject({ kind: 'lifecycle.removed', node: removed.id });
      const diagnosis = (await api.call({ role: 'viewer', url: `/api/v1/nodes/${reference}/diagnosis` })).json();
      expect(diagnosis).toMatchObject({ node: 'node01', state: 'removed', diagnosis: { id: 'removed' } });
      const explained = (await api.call({ role: 'viewer', url: `/api/v1/nodes/${reference}/explain` })).json();
      expect(explained).toMatchObject({ subject: { hostname: 'node01' }, because: { id: 'removed' } });
    }
  });

  it('refuses a transition that is not in the table, lists the possible ones, and records the refusal in the trail', async () => {
    const answer = await act('accept');
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^node01: accept .*registered/),
    });
    const { events } = (await api.call({ role: 'viewer', url: '/api/v1/events?kind=lifecycle&node=node01' })).json();
    expect(events.at(-1)).toMatchObject({ kind: 'lifecycle.unexpected', actor: 'token:test-operator' });
  });

  it('is recorded in the audit log with the caller and the note', async () => {
    await act('retire', { note: 'end of lease' });
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({
      actor: 'token:test-operator',
      target: 'node:node01',
      correlationId: expect.any(String),
    });
  });

  it.each([
    ['an unknown field', { reason: 'x' }, 'reason: unknown field'],
    ['an empty note', { note: '' }, /^note: must/],
    ['a note without end', { note: 'x'.repeat(501) }, /^note: must/],
    ['an unexpected confirmation', { confirm: 'node01' }, 'confirm: unknown field'],
  ])('refuses %s', async (_what, payload, message) => {
    expect((await act('retire', payload)).json()).toMatchObject({
      code: 'invalid_request',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });
});
