// Onboarding runs over the API, driven by the real runner and the native provider with BMCs that record.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LifecycleState, lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { OnboardingId } from '../../appliance/domain/onboarding.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { newEvent, transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { type Fixture, openApi } from './api-fixture.ts';

const FIELDS = { site_id: 'lab', profile_id: 'worker', sku_id: 'gp1', hostname: 'c07u31', ipmi_ip: '10.0.200.31' };

const NODE09 = { ...FIELDS, hostname: 'node09' };

let api: Fixture;
beforeEach(async () => {
  api = await openApi({ deployable: true });
});
afterEach(() => api.close());

const post = (path: string, payload: object = {}, role: Role = 'operator') =>
  api.call({ role, method: 'POST', url: `/api/v1/onboardings${path}`, payload });
const show = async (id: string) => (await api.call({ role: 'viewer', url: `/api/v1/onboardings/${id}` })).json();
const started = async (fields: object = FIELDS): Promise<string> => {
  const { id } = (await post('', fields)).json();
  await post(`/${id}/confirm`, { hostname: (fields as typeof FIELDS).hostname });
  await settle(id);
  return id;
};
const settle = async (id: string): Promise<void> => {
  api.runner.wake(id as OnboardingId);
  await api.runner.idle();
};
const nodeOf = async (id: string): Promise<Machine> => {
  const machine = await api.store.machine((await show(id)).node);
  return machine ?? expect.fail('the run has no node');
};
/** What its machine would report. */
const becomes = async (id: string, state: LifecycleState, changes: object = {}): Promise<void> => {
  const machine = await nodeOf(id);
  const lifecycle = { ...lifeIn(state, api.clock.now()), ...changes };
  await writesTo(api.store).transition(transitionOf(machine, state, { lifecycle }));
  await settle(id);
};
/** An undeclared machine on the boot network. */
const appears = async (hostname: string, mac: string): Promise<void> => {
  const { declaredRevision } = await api.store.inventory();
  const [sample] = [...api.fleet.machines()];
  if (!sample) expect.fail('there is a node');
  const id = crypto.randomUUID() as Machine['id'];
  const interfaces = [{ name: 'eth0', mac, network: 'provisioning', address: null, mtu: null }] as never;
  const none = { putCatalogue: [], dropCatalogue: [], changeMachines: [], removeMachines: [], audit: [] };
  await api.store.writeInventory({
    ...{ ...none, declaredRevision, events: [newEvent('node.discovered', { machine: id, at: api.clock.now() })] },
    createMachines: [
      {
        id,
        spec: {
          ...sample.spec,
          hostname: hostname as never,
          interfaces,
          uuid: null,
          serial: null,
          sku: null,
          profile: null,
        },
        source: 'network',
        lifecycle: lifeIn('discovered', api.clock.now()),
      },
    ],
  });
};
const MINUTE = 60_000;

/** A node of the API that can boot, without a BMC. */
const declareNode09 = async (): Promise<void> => {
  const interfaces = [{ name: 'eth0', mac: '52:54:00:12:34:99', network: 'provisioning', address: '10.0.100.99' }];
  const payload = { name: 'node09', sku: 'gp1', profile: 'worker', interfaces };
  const answer = await api.call({ role: 'admin', method: 'POST', url: '/api/v1/nodes', payload });
  expect(answer.statusCode, answer.body).toBe(201);
};

describe('a request for onboarding', () => {
  it('has exactly five fields: overrides are rejected', async () => {
    const answer = await post('', { ...FIELDS, retries: 5, pxe_mac: '52:54:00:00:00:01' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().details.join()).toContain('retries: unknown field');
    expect((await post('', { ...FIELDS, ipmi_ip: undefined })).json()).toMatchObject({ code: 'invalid_request' });
    expect((await api.store.onboardings({ limit: 9 })).length).toBe(0);
  });

  it.each([
    [{ site_id: 'nowhere' }, 'invalid_request', 'site_id: there is no site nowhere'],
    [{ sku_id: 'v100' }, 'invalid_sku', 'sku_id: SKU v100 is not active'],
    [{ profile_id: 'none' }, 'invalid_request', 'profile_id: there is no profile none'],
    [{ hostname: 'C07.example' }, 'invalid_request', 'hostname: '],
    [{ ipmi_ip: '10.0.200.999' }, 'invalid_request', 'ipmi_ip: '],
  ])('is checked against the catalogue: %o', async (changes, code, message) => {
    const answer = (await post('', { ...FIELDS, ...changes })).json();
    expect(answer).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('is for operators, and outside the BMC networks of the site for admins: the appliance logs in there', async () => {
    expect((await post('', FIELDS, 'tech')).statusCode).toBe(403);
    const elsewhere = { ...FIELDS, ipmi_ip: '192.0.2.1' };
    const refused = await post('', elsewhere);
    expect([refused.statusCode, refused.json().message]).toEqual([403, expect.stringContaining('ipmi_ip: ')]);
    expect((await api.store.onboardings({ limit: 9 })).length).toBe(0);
    expect((await post('', elsewhere, 'admin')).statusCode).toBe(201);
  });

  it('allows one open run for each host', async () => {
    const { id } = (await post('', FIELDS)).json();
    const second = await post('', { ...FIELDS, ipmi_ip: '10.0.200.32' });
    expect([second.statusCode, second.json().message]).toEqual([409, `c07u31 is being onboarded already: ${id}`]);
  });

  it('waits for a confirmation with the host name when no run of the site was completed', async () => {
    const run = (await post('', FIELDS)).json();
    expect(run).toMatchObject({ state: 'awaiting-confirmation', steps: [], attempt: 1 });
    await settle(run.id);
    expect(await show(run.id)).toMatchObject({ state: 'awaiting-confirmation', steps: [], node: null });
    expect((await post(`/${run.id}/confirm`, { hostname: 'node01' })).statusCode).toBe(400);
    expect((await post(`/${run.id}/confirm`, { hostname: 'c07u31' })).json()).toMatchObject({
      state: 'running',
      confirmed_by: 'token:test-operator',
    });
    expect((await post(`/${run.id}/confirm`, { hostname: 'c07u31' })).statusCode).toBe(409);
  });
});

describe('a run', () => {
  it('creates a node of which only the BMC address is known, and boots it from the network', async () => {
    const id = await started();
    expect(await show(id)).toMatchObject({ state: 'running', step: 'discover', deadline: expect.any(String) });
    const { spec, lifecycle } = await nodeOf(id);
    expect([spec.hostname, spec.bmc?.address, spec.interfaces, lifecycle.state]).toEqual([
      ...['c07u31', '10.0.200.31', [], 'registered'],
    ]);
    const recorded = (await show(id)).events.filter(({ kind }: { kind: string }) => kind === 'bmc.recorded');
    expect(recorded.map(({ data }: { data: { action: string } }) => data.action)).toEqual([
      ...['boot-once-from-network', 'power-cycle'],
    ]);
  });

  it('claims the only new machine when policy allows it, and otherwise stops and names it', async () => {
    const id = await started();
    await appears('unknown-525400990001', '52:54:00:99:00:01');
    api.clock.time += 3 * MINUTE;
    await settle(id);
    expect(await show(id)).toMatchObject({
      state: 'failed',
      failure: { step: 'discover', class: 'unknown', candidates: ['unknown-525400990001 (52:54:00:99:00:01)'] },
      next_step: expect.stringContaining(`coldiron onboardings retry ${id}`),
    });
    await applySite({ auto_claim: true });
    await post(`/${id}/retry`);
    await settle(id);
    await becomesSeen();
    api.clock.time += 3 * MINUTE;
    await settle(id);
    expect(await show(id)).toMatchObject({ state: 'running', step: 'commission', attempt: 2, failure: null });
    const { spec, lifecycle } = await nodeOf(id);
    expect([spec.interfaces[0]?.mac, lifecycle.state]).toEqual(['52:54:00:99:00:01', 'commissioning']);
    expect([...api.fleet.machines()].map((machine) => machine.spec.hostname)).not.toContain('unknown-525400990001');
  });

  const becomesSeen = async () => {
    const stranger = [...api.fleet.machines()].find(({ lifecycle }) => lifecycle.state === 'discovered');
    await api.store.appendEvents([newEvent('dhcp.discover', { machine: stranger?.id ?? null, at: api.clock.now() })]);
  };

  const applySite = async (onboarding: object) => {
    const source = {
      sites: [
        {
          name: 'lab',
          region: 'region-1',
          bmc_mode: 'recorder',
          onboarding: { bmc_networks: ['10.0.200.0/24'], ...onboarding },
        },
      ],
    };
    const answer = await api.call({
      ...{ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply' },
      payload: { sources: [{ name: 'policy', document: source }] },
    });
    expect(answer.statusCode, answer.body).toBe(200);
  };

  it('takes a declared node through all steps with one correlation id, and completes only when it is active', async () => {
    await declareNode09();
    const id = await started(NODE09);
    expect(await show(id)).toMatchObject({ step: 'commission', state: 'running' });
    expect((await nodeOf(id)).lifecycle.state).toBe('commissioning');
    await becomes(id, 'ready');
    expect(await show(id)).toMatchObject({ step: 'deploy' });
    const { intent, lifecycle } = await nodeOf(id);
    expect([lifecycle.state, intent?.kind, intent?.actor]).toEqual(['deploying', 'deploy', 'token:test-operator']);
    await becomes(id, 'enrolling');
    expect(await show(id)).toMatchObject({ step: 'enroll', state: 'running' });
    await becomes(id, 'active');
    const run = await show(id);
    expect(run).toMatchObject({ state: 'completed', attempt: 1, failure: null, ended_at: expect.any(String) });
    const own = run.events.filter(({ kind }: { kind: string }) => /^(onboarding|intent)\./.test(kind));
    expect(new Set(own.map((event: { correlation_id: string }) => event.correlation_id))).toEqual(
      new Set([run.correlation_id]),
    );
    // The next run of the site needs no confirmation.
    expect((await post('', FIELDS)).json()).toMatchObject({ state: 'running' });
  });

  it('returns to ready and deploys again after a failure in a listed class', async () => {
    await declareNode09();
    const id = await started(NODE09);
    await becomes(id, 'ready');
    const first = (await nodeOf(id)).intent?.id;
    const reason = 'DataSourceNotFoundException: no data source';
    await becomes(id, 'failed', { failure: { step: 'deploy', reason } });
    const run = await show(id);
    expect(run).toMatchObject({
      state: 'running',
      attempt: 2,
      step: 'deploy',
      failure: { class: 'datasource', reason },
    });
    const machine = await nodeOf(id);
    expect(machine.lifecycle.state).toBe('deploying');
    expect(machine.intent?.id).not.toBe(first);
    const states = run.events.flatMap(({ kind }: { kind: string }) =>
      kind.startsWith('lifecycle.') ? [kind.slice(10)] : [],
    );
    expect(states.slice(-2)).toEqual(['ready', 'deploying']);
  });

  it('does not deploy again after a failure in another class', async () => {
    await declareNode09();
    const id = await started(NODE09);
    await becomes(id, 'ready');
    await becomes(id, 'failed', { failure: { step: 'deploy', reason: 'the disk is broken' } });
    expect(await show(id)).toMatchObject({
      state: 'failed',
      attempt: 1,
      failure: { step: 'deploy', class: 'unknown' },
    });
    expect((await nodeOf(id)).lifecycle.state).toBe('failed');
  });

  it('stops when the inventory file declares the node differently', async () => {
    const id = await started({ ...FIELDS, hostname: 'node01', sku_id: 'h100' });
    expect(await show(id)).toMatchObject({
      state: 'failed',
      failure: {
        step: 'discover',
        reason: expect.stringContaining('node01 is declared by rack: sku is gp1, not h100'),
      },
    });
  });

  it('stops before it deploys to a machine that is in use', async () => {
    await declareNode09();
    const node = [...api.fleet.machines()].find(({ spec }) => spec.hostname === 'node09');
    if (!node) expect.fail('there is a node09');
    await writesTo(api.store).transition(
      transitionOf(node, 'active', { lifecycle: lifeIn('active', api.clock.now()) }),
    );
    const id = await started(NODE09);
    expect(await show(id)).toMatchObject({
      state: 'failed',
      failure: { step: 'commission', reason: expect.stringContaining('it is active') },
    });
  });

  it('is cancelled with the work that it started', async () => {
    await declareNode09();
    const id = await started(NODE09);
    await becomes(id, 'ready');
    await post(`/${id}/cancel`, { note: 'wrong rack' });
    await settle(id);
    expect(await show(id)).toMatchObject({ state: 'cancelled', cancelled_by: 'token:test-operator' });
    expect((await nodeOf(id)).lifecycle.state).toBe('ready');
    expect((await post(`/${id}/cancel`)).statusCode).toBe(409);
    expect((await post(`/${id}/retry`)).statusCode).toBe(409);
  });

  it('creates a node that enrolls at its first boot when the profile does not say how', async () => {
    const document = { profiles: [{ name: 'plain', kind: 'nixos', role: 'worker' }] };
    const answer = await api.call({
      ...{ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply' },
      payload: { sources: [{ name: 'more', document }] },
    });
    expect(answer.statusCode, answer.body).toBe(200);
    expect((await nodeOf(await started({ ...FIELDS, profile_id: 'plain' }))).spec.enrollment).toBe('first-boot');
    const other = { ...FIELDS, hostname: 'c07u32', ipmi_ip: '10.0.200.32' };
    expect((await nodeOf(await started(other))).spec.enrollment).toBeNull();
  });

  it('is listed and found by its id', async () => {
    const id = await started();
    const list = (await api.call({ role: 'viewer', url: '/api/v1/onboardings?state=running' })).json();
    expect(list.onboardings).toMatchObject([{ id, hostname: 'c07u31' }]);
    expect((await api.call({ role: 'viewer', url: '/api/v1/onboardings/nothing' })).statusCode).toBe(404);
  });

  it('leaves audit entries for what people did', async () => {
    await started();
    const actions = (await api.store.auditEntries(0, 100)).map(({ action }) => action);
    expect(actions).toEqual(
      expect.arrayContaining(['onboarding.requested', 'onboarding.confirmed', 'node.created', 'bmc.power']),
    );
  });
});
