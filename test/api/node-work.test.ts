import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { SessionId } from '../../appliance/domain/session.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { newEvent, transitionOf } from '../store/samples.ts';
import { changeOf, writesTo } from '../store/writes.ts';
import { type Fixture, openApi, START } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const ask = (verb: string, payload: object = {}, role: Role = 'operator') =>
  api.call({ role, method: 'POST', url: `/api/v1/nodes/node01/${verb}`, payload });
const get = async (path = '') => (await api.call({ role: 'viewer', url: `/api/v1/nodes/node01${path}` })).json();
const id = async () => api.fleet.machineById((await get()).id)?.id ?? expect.fail('no node01');
const put = async (state: LifecycleState): Promise<void> => {
  const machine = await api.store.machine(await id());
  if (!machine) return;
  const moved = await writesTo(api.store).transition(transitionOf(machine, state, { lifecycle: lifeIn(state, START) }));
  api.fleet.update([moved], api.fleet.at);
};
/** The MAC addresses and the SMBIOS UUID of node01, as the rack declares them. */
const CHASSIS = {
  macs: ['52:54:00:22:34:51', '52:54:00:12:34:51'],
  uuid: '00000000-0000-4000-8000-000000000001',
};
const CONFIRMED = { confirm: 'node01' };

describe('work on a node', () => {
  it('starts on the request of an operator, and is audited', async () => {
    expect((await ask('commission', { note: 'new board' })).json()).toMatchObject({
      state: 'commissioning',
      note: 'new board',
    });
    expect((await api.store.auditEntries(0, 100)).at(-1)).toMatchObject({
      action: 'node.commission',
      actor: 'token:test-operator',
    });
  });

  it.each([
    ['commission', 'registered'],
    ['release', 'ready'],
  ] as const)('%s is refused at once, with the reason, when the library has no service OS', async (verb, state) => {
    const bare = await openApi({ serviceOs: false });
    try {
      const [machine] = [...bare.fleet.machines()];
      if (!machine) expect.fail('there is a node');
      await writesTo(bare.store).transition(transitionOf(machine, state, { lifecycle: lifeIn(state, START) }));
      const payload = verb === 'release' ? { confirm: machine.spec.hostname } : {};
      const url = `/api/v1/nodes/${machine.spec.hostname}/${verb}`;
      const answer = await bare.call({ role: 'operator', method: 'POST', url, payload });
      expect([answer.statusCode, answer.json().message]).toEqual([409, expect.stringContaining('service-os-x86_64')]);
      expect((await bare.store.machine(machine.id))?.lifecycle.state).toBe(state);
      expect((await bare.store.machine(machine.id))?.intent).toBeNull();
    } finally {
      await bare.close();
    }
  });

  it.each(['commission', 'deploy', 'release', 'rescue', 'end-rescue', 'drain', 'undrain'])(
    '%s is not for viewers and technicians',
    async (verb) => {
      for (const role of ['viewer', 'tech', 'node'] as const) {
        expect((await ask(verb, CONFIRMED, role)).statusCode).toBe(403);
      }
    },
  );

  it.each(['deploy', 'release'])('%s needs the host name as confirmation', async (verb) => {
    await put('ready');
    expect((await ask(verb)).json()).toMatchObject({ code: 'invalid_request', message: 'confirm: missing' });
    expect((await ask(verb, { confirm: 'node02' })).statusCode).toBe(400);
    expect(await get()).toMatchObject({ state: 'ready', intent: null });
  });

  it('is refused with every reason, and nothing is armed', async () => {
    const refused = (await ask('deploy', CONFIRMED)).json();
    expect(refused).toMatchObject({ code: 'not_deployable', message: 'node01 cannot be deployed' });
    expect(refused.details).toEqual([
      expect.stringContaining('deploy is not possible from registered'),
      'its hardware was never recorded: commission it first',
      expect.stringContaining('nixos/worker/bzImage'),
      expect.stringContaining('its disks are not known yet'),
    ]);
    expect(await get()).toMatchObject({ state: 'registered', intent: null });
  });

  it('names a profile that does not exist', async () => {
    await put('ready');
    const { details } = (await ask('deploy', { ...CONFIRMED, profile: 'nothing' })).json();
    expect(details).toContain('its profile nothing is not declared');
    expect((await ask('deploy', { ...CONFIRMED, profile: '../x' })).json()).toMatchObject({ code: 'invalid_request' });
  });

  it('releases with an erasure that is armed for this chassis, by this caller, with an expiry', async () => {
    await put('active');
    expect((await ask('release', CONFIRMED)).json()).toMatchObject({ state: 'releasing' });
    expect((await api.store.machine(await id()))?.intent).toMatchObject(CHASSIS);
    expect((await get()).intent).toMatchObject({
      kind: 'erase',
      actor: 'token:test-operator',
      armed_at: new Date(START).toISOString(),
      expires_at: new Date(START + 3_600_000).toISOString(),
      consumed_at: null,
      revoked_at: null,
    });
    const again = await ask('release', CONFIRMED);
    expect(again.json()).toMatchObject({ code: 'conflict' });
    expect((await get()).intent).toMatchObject({ revoked_at: null });
  });

  it('deploys when nothing prevents it: armed for this chassis, with the profile, by this caller', async () => {
    await api.close();
    api = await openApi({ deployable: true });
    await put('ready');
    const answer = await ask('deploy', CONFIRMED);
    expect(answer.json()).toMatchObject({ state: 'deploying', intent: { kind: 'deploy', profile: 'worker' } });
    expect((await api.store.machine(await id()))?.intent).toMatchObject({
      ...CHASSIS,
      kind: 'deploy',
      profile: 'worker',
      actor: 'token:test-operator',
      consumedAt: null,
      revokedAt: null,
    });
  });

  it('refuses a rescue of a machine that nobody could log in to', async () => {
    expect((await ask('rescue')).json()).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('nobody could log in'),
    });
    expect(await get()).toMatchObject({ state: 'registered' });
  });

  it('drains and undrains', async () => {
    await put('active');
    expect((await ask('drain')).json()).toMatchObject({ state: 'draining' });
    expect((await ask('undrain')).json()).toMatchObject({ state: 'active' });
  });
});

describe('reads about the work', () => {
  it('list its sessions, without ticket or key', async () => {
    await writesTo(api.store).putTicket({
      id: 'session-1' as SessionId,
      machine: await id(),
      mode: 'commission',
      order: { mode: 'commission' },
      ticketHash: 'a-hash',
      madeAt: START,
      expiresAt: START + 1,
    });
    const { sessions } = await get('/sessions');
    expect(sessions).toMatchObject([{ mode: 'commission', opened_at: null, last: null, ended: null }]);
    expect(JSON.stringify(sessions)).not.toContain('hash');
  });

  it('compare the cables with the declared switch ports', async () => {
    const [first = null] = CHASSIS.macs;
    const heard = { chassis: '00:11:22:aa:bb:cc', system: 'sw3.example', port_description: null };
    const cableAt = async (port: string, at: number) => {
      const nics = [{ name: 'eno1', mac: first, link: true, neighbour: { ...heard, port } }];
      const event = newEvent('session.facts', { data: sampleData('session.facts') });
      await writesTo(api.store).putFacts(await id(), { at, facts: { disks: [], nics } }, event);
      return await get('/cabling');
    };
    expect((await get()).interfaces[0]).toMatchObject({ name: 'eth1', switch: { name: 'sw3', port: 'Ethernet1/1' } });
    expect(await cableAt('Ethernet1/1', START)).toMatchObject({
      node: 'node01',
      cables: [
        { interface: 'eth1', verdict: 'as-declared', summary: 'as declared', port_of: null, link: true },
        { interface: 'eth0', verdict: 'not-declared', seen: null, declared: null },
      ],
    });
    expect((await cableAt('Ethernet1/3', START + 1)).cables[0]).toMatchObject({
      verdict: 'another-port',
      summary: 'at sw3.example Ethernet1/3, the port of node03 eth1',
      declared: { name: 'sw3', port: 'Ethernet1/1' },
      seen: { ...heard, port: 'Ethernet1/3', at: expect.any(String) },
      port_of: { node: 'node03', interface: 'eth1', swapped: false },
    });
  });

  it('show the last erasure, and what a later session found', async () => {
    const said = { session: 's-1', identity: 'bound' } as const;
    const disks = [{ name: 'sda', serial: null, bytes: 1e12, method: 'discarded' }];
    const check = {
      ...said,
      at: START + 1,
      mode: 'commission',
      result: 'empty',
      bytes: 7_340_032,
      problems: [],
    } as const;
    const erasure = { ...said, at: START, disks, overwrittenAt: null, check };
    const write = { kind: 'put-hardware', hardware: { bound: null, refused: null, erasure } } as const;
    await api.store.commit(changeOf(await id(), { writes: [write] }));
    await expect.poll(async () => (await get()).erasure).not.toBeNull();
    expect((await get()).erasure).toEqual({
      ...{ ...said, at: new Date(START).toISOString(), disks, overwritten_at: null },
      check: { ...check, at: new Date(START + 1).toISOString() },
    });
  });

  it('list the hardware facts, newest first', async () => {
    for (const [at, bytes] of [
      [1, 10],
      [2, 20],
    ] as const) {
      await writesTo(api.store).putFacts(
        await id(),
        { at: START + at, facts: { memory: { bytes } } },
        newEvent('session.facts', { data: sampleData('session.facts') }),
      );
    }
    expect((await get('/facts')).facts).toMatchObject([
      { facts: { memory: { bytes: 20 } } },
      { facts: { memory: { bytes: 10 } } },
    ]);
  });

  it('diagnose why it is stuck', async () => {
    expect(await get('/diagnosis')).toMatchObject({ node: 'node01', state: 'registered', diagnosis: null });
    await ask('commission');
    api.clock.time += 10 * 60_000;
    expect((await get('/diagnosis')).diagnosis).toMatchObject({
      id: 'no-discover',
      next_step: expect.stringContaining('console node01'),
    });
  });
});
