// Allocations over the API, with the tasks of the node executed by the test.

import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Allocations } from '../../appliance/allocations/allocations.ts';
import { lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { Task } from '../../appliance/domain/task.ts';
import type { Role } from '../../appliance/domain/token.ts';
import type { EnrollmentService } from '../../appliance/identity/enrollment-service.ts';
import { emptyChange } from '../../appliance/machines/commands/decision.ts';
import { type Fixture, openApi, RACK } from './api-fixture.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH alice@laptop';
const OTHER_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI';

let api: Fixture;
let allocations: Allocations;
let enrollment: EnrollmentService;

beforeEach(async () => {
  api = await openApi({
    deps: (real) => {
      ({ allocations, enrollment } = real);
      return {};
    },
  });
  for (const node of ['node01', 'node02']) await makeActive(node);
  await request('admin', 'POST', '/ssh-keys', { key: KEY, owner: 'alice' });
});
afterEach(() => api.close());

const machineOf = (hostname: string): Machine =>
  [...api.fleet.machines()].find(({ spec }) => spec.hostname === hostname) ?? expect.fail(`no ${hostname}`);

async function makeActive(hostname: string): Promise<void> {
  const machine = machineOf(hostname);
  const change = emptyChange(machine, api.clock.now());
  await api.store.commit({
    ...change,
    lifecycle: lifeIn('active', api.clock.now()),
    writes: [{ kind: 'set-health', health: 'online' }],
  });
}

const request = async (
  role: Role,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  payload?: object,
  headers: Record<string, string> = {},
) => {
  const response = await api.call({ role, method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
  return { status: response.statusCode, body: response.json() };
};
const allocate = async (payload: object) => {
  const { status, body } = await request('operator', 'POST', '/allocations', { user: 'alice', ...payload });
  expect(status, JSON.stringify(body)).toBe(201);
  return body as { id: string; node: string; state: string };
};
const stateOf = async (id: string): Promise<string> =>
  (await request('viewer', 'GET', `/allocations/${id}`)).body.state;

/** The node fetches its next task, begins it and reports its result. */
async function execute(hostname: string, succeeded = true, output = 'done'): Promise<Task> {
  const machine = machineOf(hostname);
  const { tasks } = enrollment;
  // Tasks are in the order of their creation.
  api.clock.time += 1000;
  const task = await tasks.next(machine.id, async () => true, 0, new AbortController().signal);
  if (!task) return expect.fail(`${hostname} has no task`);
  expect(await tasks.begin(machine, task.id, task.lease ?? '', 'c')).toBe(true);
  await tasks.finish(machine, task.id, { succeeded, output }, 'c');
  await allocations.reconcile();
  return task;
}

describe('an allocation', () => {
  it('goes from requested over provisioning to active, and over releasing to released', async () => {
    const { id, node, state } = await allocate({ node: 'node01' });
    expect([node, state]).toEqual(['node01', 'provisioning']);
    const task = await execute('node01');
    expect(task).toMatchObject({ kind: 'provision-account', parameters: { allocation: id, user: 'alice' } });
    expect(
      Buffer.from(task.parameters.keys ?? '', 'base64url')
        .toString()
        .trim(),
    ).toBe(KEY);
    expect(await stateOf(id)).toBe('active');
    expect((await request('viewer', 'GET', '/nodes/node01')).body.allocation).toEqual({
      id,
      user: 'alice',
      state: 'active',
    });
    expect(await request('operator', 'POST', `/allocations/${id}/release`)).toMatchObject({
      status: 200,
      body: { state: 'releasing', reason: 'released by token:test-operator' },
    });
    expect(await request('operator', 'POST', `/allocations/${id}/release`)).toMatchObject({ status: 200 });
    expect(await execute('node01')).toMatchObject({
      kind: 'remove-account',
      parameters: { allocation: id, user: 'alice' },
    });
    expect(await stateOf(id)).toBe('released');
    expect((await request('viewer', 'GET', '/nodes/node01')).body.allocation).toBeNull();
    const states = (await api.store.events({ kind: 'allocation.moved', limit: 10 })).map(
      ({ data }) => (data as { after: string }).after,
    );
    expect(states).toEqual(['requested', 'provisioning', 'active', 'releasing', 'released']);
    const audited = (await api.store.auditEntries(0, 100)).filter(({ action }) => action.startsWith('allocation.'));
    expect(audited.map(({ action, actor, target }) => [action, actor, target])).toEqual([
      ['allocation.request', 'token:test-operator', 'node:node01'],
      ['allocation.release', 'token:test-operator', 'node:node01'],
    ]);
    expect(await request('viewer', 'GET', '/allocations?open=true')).toMatchObject({ body: { allocations: [] } });
    expect((await request('viewer', 'GET', '/allocations?user=alice&node=node01')).body.allocations).toHaveLength(1);
  });

  it('of any node of a SKU takes the free ones, and says why none is left', async () => {
    const nodes = [await allocate({ sku: 'gp1' }), await allocate({ sku: 'gp1' })].map(({ node }) => node);
    expect(nodes).toEqual(['node01', 'node02']);
    expect(await request('operator', 'POST', '/allocations', { user: 'alice', sku: 'gp1' })).toMatchObject({
      status: 409,
      body: {
        message: 'no node of the SKU gp1 is free',
        details: [
          expect.stringMatching(/^node01: allocation .* of alice \(provisioning\) holds it$/),
          expect.stringMatching(/^node02: /),
          'node03: it is registered',
        ],
      },
    });
    expect(await request('operator', 'POST', '/allocations', { user: 'alice', node: 'node01' })).toMatchObject({
      status: 409,
      body: { code: 'node_in_use' },
    });
  });

  it('is requested once with one Idempotency-Key, also of any node', async () => {
    const send = () =>
      request('operator', 'POST', '/allocations', { user: 'alice', sku: 'gp1' }, { 'idempotency-key': 'k1' });
    const [first, second] = [await send(), await send()];
    expect(second.body.id).toBe(first.body.id);
    expect((await request('viewer', 'GET', '/allocations')).body.allocations).toHaveLength(1);
  });

  it.each([
    ['a system account', { user: 'root', node: 'node01' }, 400, /system account/],
    ['a name that is no user name', { user: 'A b', node: 'node01' }, 400, /not a user name/],
    ['no node', { user: 'alice' }, 400, /a node or a SKU/],
    ['both', { user: 'alice', node: 'node01', sku: 'gp1' }, 400, /a node or a SKU/],
    ['a node that is not active', { user: 'alice', node: 'node03' }, 409, /it is registered/],
    ['a SKU without nodes', { user: 'alice', sku: 'h100' }, 409, /no node has the SKU/],
    ['a user without a key', { user: 'bob', node: 'node01' }, 409, /nobody could log in/],
    ['an unknown key set', { user: 'alice', node: 'node01', key_set: 'none' }, 404, /no key set/],
  ])('is refused for %s', async (_what, body, status, message) => {
    const answer = await request('operator', 'POST', '/allocations', body);
    expect(answer).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
    expect((await request('viewer', 'GET', '/allocations')).body.allocations).toEqual([]);
  });

  it('is refused on a node whose agent is silent', async () => {
    await api.store.commit({
      ...emptyChange(machineOf('node01'), api.clock.now()),
      writes: [{ kind: 'set-health', health: 'silent' }],
    });
    expect(await request('operator', 'POST', '/allocations', { user: 'alice', node: 'node01' })).toMatchObject({
      status: 409,
      body: { message: 'node01 cannot be allocated: its agent is silent' },
    });
  });

  it('uses a key set of others only with the role admin', async () => {
    const { body } = await request('admin', 'POST', '/ssh-keys', { key: OTHER_KEY, owner: 'bob' });
    await request('admin', 'PUT', '/key-sets/bobs', { keys: [body.id], owner: 'bob' });
    const asked = { user: 'alice', node: 'node01', key_set: 'bobs' };
    expect(await request('operator', 'POST', '/allocations', asked)).toMatchObject({ status: 403 });
    expect(await request('admin', 'POST', '/allocations', asked)).toMatchObject({ status: 201 });
    const task = await execute('node01');
    expect(
      Buffer.from(task.parameters.keys ?? '', 'base64url')
        .toString()
        .trim(),
    ).toBe(OTHER_KEY);
  });

  it('gets the restored keys after a rollback of its key set', async () => {
    const [hers] = (await request('viewer', 'GET', '/ssh-keys')).body.keys;
    const { body: other } = await request('admin', 'POST', '/ssh-keys', { key: OTHER_KEY, owner: 'alice' });
    const put = (keys: string[]) => request('admin', 'PUT', '/key-sets/hers', { keys, owner: 'alice' });
    await put([hers.id]);
    const { id } = await allocate({ node: 'node01' });
    await execute('node01');
    const keysNow = async () =>
      Buffer.from((await execute('node01')).parameters.keys ?? '', 'base64url')
        .toString()
        .trim();
    await request('admin', 'PUT', `/allocations/${id}/key-set`, { key_set: 'hers' });
    expect(await keysNow()).toBe(KEY);
    await put([other.id]);
    await allocations.reconcile();
    expect(await keysNow()).toBe(OTHER_KEY);
    await request('admin', 'POST', '/key-sets/hers/rollback', {});
    await allocations.reconcile();
    expect(await keysNow()).toBe(KEY);
    expect(await stateOf(id)).toBe('active');
    expect(await request('admin', 'DELETE', '/key-sets/hers')).toMatchObject({
      status: 409,
      body: { details: [`allocation ${id} of alice (active)`] },
    });
    expect(await request('operator', 'PUT', `/allocations/${id}/key-set`, { key_set: null })).toMatchObject({
      status: 403,
    });
  });
});

describe('a node that is allocated', () => {
  it.each(['retire', 'drain', 'release', 'remove'])('cannot %s: the answer names the allocation', async (verb) => {
    const { id } = await allocate({ node: 'node01' });
    const body = verb === 'release' || verb === 'remove' ? { confirm: 'node01' } : {};
    const answer = await request('admin', 'POST', `/nodes/node01/${verb}`, body);
    expect(answer).toMatchObject({ status: 409, body: { code: 'node_in_use' } });
    if (verb !== 'remove') expect(answer.body.message).toContain(`allocation ${id} of alice`);
    expect((await request('viewer', 'GET', '/nodes/node01')).body.state).toBe('active');
  });

  it('keeps its SKU and stays in the inventory', async () => {
    const { id } = await allocate({ node: 'node01' });
    const skus = [...RACK.skus, { name: 'gp2', architecture: 'x86_64' }];
    const apply = (nodes: object[]) =>
      request('admin', 'POST', '/inventory/apply', { sources: [{ name: 'rack', document: { ...RACK, skus, nodes } }] });
    const changed = RACK.nodes.map((node) => (node.name === 'node01' ? { ...node, sku: 'gp2' } : node));
    for (const nodes of [changed, RACK.nodes.slice(1)]) {
      const answer = await apply(nodes);
      expect(answer).toMatchObject({ status: 409, body: { code: 'node_in_use' } });
      expect(JSON.stringify(answer.body)).toContain(id);
    }
  });

  it('may be quarantined; its allocation then ends through the audited clean-up', async () => {
    const { id } = await allocate({ node: 'node01' });
    await execute('node01');
    await request('operator', 'POST', '/nodes/node01/quarantine', { note: 'drift' });
    expect(await request('admin', 'POST', `/allocations/${id}/clean-up`, { note: 'too early' })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('is not stale') },
    });
    expect(await request('operator', 'POST', `/allocations/${id}/release`)).toMatchObject({
      body: { state: 'release_failed', reason: 'the node is quarantined' },
    });
    expect(await request('operator', 'POST', '/nodes/node01/retire', {})).toMatchObject({
      status: 409,
      body: { code: 'node_in_use' },
    });
    expect(await request('operator', 'POST', `/allocations/${id}/clean-up`, { note: 'disks erased' })).toMatchObject({
      status: 403,
    });
    expect(await request('admin', 'POST', `/allocations/${id}/clean-up`, { note: 'disks erased' })).toMatchObject({
      status: 200,
      body: { state: 'released', reason: 'cleaned up by token:test-admin: disks erased' },
    });
    expect(await request('operator', 'POST', '/nodes/node01/retire', {})).toMatchObject({ status: 200 });
    const [entry] = (await api.store.auditEntries(0, 100)).filter(({ action }) => action === 'allocation.clean-up');
    expect(entry).toMatchObject({ actor: 'token:test-admin', after: { note: 'disks erased' } });
    expect(await api.store.events({ kind: 'allocation.release_failed', limit: 5 })).toHaveLength(1);
  });
});

describe('a step that fails', () => {
  it('while provisioning releases the allocation, with the reason of the node', async () => {
    const { id } = await allocate({ node: 'node01' });
    await execute('node01', false, 'the account alice exists on this node and belongs to no allocation');
    expect((await request('viewer', 'GET', `/allocations/${id}`)).body).toMatchObject({
      state: 'releasing',
      reason: 'the node reported: the account alice exists on this node and belongs to no allocation',
    });
    await execute('node01');
    expect(await stateOf(id)).toBe('released');
  });

  it('while releasing keeps the node, and can be repeated', async () => {
    const { id } = await allocate({ node: 'node01' });
    await execute('node01');
    await request('operator', 'POST', `/allocations/${id}/release`);
    await execute('node01', false, 'processes of alice do not end');
    expect(await stateOf(id)).toBe('release_failed');
    await request('operator', 'POST', `/allocations/${id}/release`);
    await execute('node01');
    expect(await stateOf(id)).toBe('released');
  });

  it('because the node is silent ends at the deadline', async () => {
    const { id } = await allocate({ node: 'node01' });
    api.clock.time += 31 * 60_000;
    await enrollment.tasks.sweep();
    await allocations.reconcile();
    expect(await stateOf(id)).toBe('releasing');
    api.clock.time += 31 * 60_000;
    await enrollment.tasks.sweep();
    await allocations.reconcile();
    expect(await stateOf(id)).toBe('release_failed');
  });
});

describe('the tasks of allocations', () => {
  it.each(['provision-account', 'check-account', 'remove-account'])(
    '%s cannot be created by an operator',
    async (kind) => {
      expect(await request('admin', 'POST', '/nodes/node01/tasks', { kind })).toMatchObject({ status: 400 });
    },
  );
});

describe('a sudo policy', () => {
  const COMMAND = '/usr/bin/systemctl restart web.service';
  const RULES = 'a'.repeat(64);
  const put = (commands: string[], role: Role = 'operator') => request(role, 'PUT', '/sudo-policies/web', { commands });
  const review = (checksum: string) => request('admin', 'POST', '/sudo-policies/web/review', { checksum });
  const allocated = async () => {
    const { body } = await put([COMMAND]);
    await review(body.checksum);
    const allocation = await allocate({ node: 'node01', sudo_policy: 'web' });
    const task = await execute('node01', true, `has 1 SSH keys\nsudo rules ${RULES}`);
    return { id: allocation.id, task };
  };

  it('is an explicit list, and is used only after a review of exactly this list', async () => {
    const { status, body } = await put([COMMAND, COMMAND]);
    expect(status).toBe(200);
    expect(body).toMatchObject({ owner: 'test-operator', commands: [COMMAND], reviewed_by: null });
    expect(body.sudoers).toContain(`USER ALL=(root) NOPASSWD: ${COMMAND}\n`);
    const asked = { user: 'alice', node: 'node01', sudo_policy: 'web' };
    expect(await request('operator', 'POST', '/allocations', asked)).toMatchObject({
      status: 409,
      body: { message: 'the sudo policy web has not been reviewed' },
    });
    expect(await request('operator', 'POST', '/sudo-policies/web/review', { checksum: body.checksum })).toMatchObject({
      status: 403,
    });
    expect(await review('0'.repeat(64))).toMatchObject({ status: 409 });
    expect(await review(body.checksum)).toMatchObject({ status: 200, body: { reviewed_by: 'token:test-admin' } });
    expect((await put(['/usr/bin/id'])).body).toMatchObject({ reviewed_by: null, version: 3 });
    expect(await request('operator', 'POST', '/allocations', asked)).toMatchObject({ status: 409 });
    expect(await request('operator', 'DELETE', '/sudo-policies/web')).toMatchObject({ status: 200 });
    expect((await request('viewer', 'GET', '/sudo-policies')).body.policies).toEqual([]);
    expect(await request('operator', 'POST', '/allocations', asked)).toMatchObject({ status: 404 });
  });

  it.each([
    ['every command', 'ALL'],
    ['a shell', '/bin/bash'],
    ['an interpreter', '/usr/bin/python3.11 /opt/tool'],
    ['a folder', '/usr/bin/'],
    ['a wildcard', '/usr/bin/systemctl restart *'],
    ['two rules', '/usr/bin/id\nalice ALL=(ALL) NOPASSWD: ALL'],
    ['a relative path', 'systemctl restart web'],
    ['a way up', '/usr/bin/../../bin/sh'],
  ])('is refused with %s', async (_what, command) => {
    expect(await put([command])).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^commands: /) },
    });
  });

  it('is recorded in the allocation with its path, checksum and reviewer, and sent to the node', async () => {
    const { id, task } = await allocated();
    const text = Buffer.from(task.parameters.sudo ?? '', 'base64url').toString();
    expect(text).toContain(`alice ALL=(root) NOPASSWD: ${COMMAND}\n`);
    expect((await request('viewer', 'GET', `/allocations/${id}`)).body.sudo).toEqual({
      ...{ policy: 'web', version: 2, reviewer: 'token:test-admin', path: '/etc/sudoers.d/coldiron-alice' },
      checksum: createHash('sha256').update(text).digest('hex'),
    });
  });

  it('is compared every ten minutes; a difference quarantines the node until a person clears it', async () => {
    const { id, task } = await allocated();
    await allocations.reconcile();
    const check = await execute('node01', true, 'as given');
    expect(check).toMatchObject({ kind: 'check-account', parameters: { allocation: id, user: 'alice', rules: RULES } });
    expect(check.parameters.sudo).toBe(
      createHash('sha256')
        .update(Buffer.from(task.parameters.sudo ?? '', 'base64url'))
        .digest('hex'),
    );
    await allocations.reconcile();
    const waiting = (await api.store.tasksOf(machineOf('node01').id, 10)).filter(({ state }) => state === 'queued');
    expect(waiting).toEqual([]);
    api.clock.time += 10 * 60_000;
    await allocations.reconcile();
    await execute('node01', false, 'drift: alice may run every command as root');
    expect((await request('viewer', 'GET', '/nodes/node01')).body).toMatchObject({
      state: 'quarantined',
      note: `drift: alice may run every command as root (allocation ${id})`,
    });
    api.clock.time += 60_000;
    await request('operator', 'POST', '/nodes/node01/clear-quarantine', {});
    await allocations.reconcile();
    expect((await request('viewer', 'GET', '/nodes/node01')).body.state).toBe('active');
    expect(await execute('node01', true, 'as given')).toMatchObject({ kind: 'check-account' });
  });

  it('that is not needed gives no rights, which are compared as well', async () => {
    await allocate({ node: 'node01' });
    expect((await execute('node01', true, `sudo rules ${RULES}`)).parameters.sudo).toBe('none');
    expect((await execute('node01', true, 'as given')).parameters.sudo).toBe('none');
  });
});
