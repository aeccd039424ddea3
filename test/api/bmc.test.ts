import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BmcFailure } from '../../appliance/bmc/bmc-error.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { FakeMachine, fakeBmc } from '../bmc/fake-bmc.ts';
import { commandsOf } from '../machines/commands-of.ts';
import { type Fixture, openApi } from './api-fixture.ts';

const METAL = {
  sites: [{ name: 'metal', bmc_mode: 'real' }],
  networks: [{ name: 'metal-boot', site: 'metal', prefix: '10.9.100.0/24' }],
  nodes: [
    {
      name: 'metal01',
      site: 'metal',
      sku: 'gp1',
      interfaces: [{ name: 'eth0', mac: '52:54:00:99:00:01', network: 'metal-boot' }],
      bmc: { address: '10.9.10.1', driver: 'redfish', username: 'ADMIN' },
    },
    {
      name: 'paper01',
      site: 'lab',
      sku: 'gp1',
      interfaces: [{ name: 'eth0', mac: '52:54:00:99:00:02', network: 'provisioning' }],
      bmc: { address: '10.9.10.2' },
    },
  ],
};
const PASSWORD = 'correct-horse-20byte';

let api: Fixture;
let hardware: FakeMachine;
const seen: { driver: string; username: string; password: string }[] = [];

beforeEach(async () => {
  hardware = new FakeMachine();
  seen.length = 0;
  api = await openApi({
    openDriver: (_machine, { driver }, { username, password }) => {
      seen.push({ driver, username, password: Buffer.from(password.reveal()).toString() });
      return {
        ...fakeBmc(hardware),
        sensors: async () => [
          { name: 'Inlet', kind: 'temperature', value: 23.5, unit: 'degrees C', health: 'ok', states: [] },
        ],
        eventLog: async () => [{ id: '1', at: null, severity: 'warning', message: 'Fan 1 is slow' }],
      };
    },
  });
  const sources = [{ name: 'metal', document: METAL }];
  const applied = await api.call({
    role: 'admin',
    method: 'POST',
    url: '/api/v1/inventory/apply',
    payload: { sources },
  });
  expect(applied.statusCode, applied.body).toBe(200);
});
afterEach(() => api.close());

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object, role: Role = 'admin') =>
  api.call({ role, method, url: `/api/v1/${path}`, ...(payload && { payload }) });
const setCredentials = (node = 'metal01', extra: object = {}) =>
  call('PUT', `nodes/${node}/bmc/credentials`, { username: 'ADMIN', password: PASSWORD, ...extra });

describe('power', () => {
  it('is read, switched and read again', async () => {
    await setCredentials();
    expect((await call('GET', 'nodes/metal01/power', undefined, 'viewer')).json()).toEqual({
      node: 'metal01',
      mode: 'real',
      power: 'on',
    });
    const off = await call('POST', 'nodes/metal01/power', { action: 'off' }, 'tech');
    expect(off.json()).toEqual({ node: 'metal01', mode: 'real', power: 'off' });
    expect(hardware.verbs).toContain('powerOff');
    expect(seen.at(-1)).toEqual({ driver: 'redfish', username: 'ADMIN', password: PASSWORD });
  });

  const commissioning = async (): Promise<void> => {
    await setCredentials();
    const metal = [...api.fleet.machines()].find(({ spec }) => spec.hostname === 'metal01');
    if (!metal) throw new Error('it was applied');
    await commandsOf(api.store, api.clock.now).request(metal.id, 'commission', {
      actor: 'token:ada',
      correlationId: null,
    });
    hardware.verbs.length = 0;
  };

  it.each(['on', 'cycle', 'reset'] as const)(
    '%s starts a machine from the network while it is worked on',
    async (action) => {
      await commissioning();
      hardware.power = action === 'on' ? 'off' : 'on';
      const answer = await call('POST', 'nodes/metal01/power', { action }, 'tech');
      expect(answer.json()).toMatchObject({ power: 'on', note: 'starts from the network, to commission' });
      expect(hardware.verbs).toContain('setBoot');
      const booted = action === 'reset' ? hardware.boot : hardware.starts.at(-1);
      expect(booted).toEqual({ device: 'network', persistent: false, firmware: null });
    },
  );

  it('leaves the boot device alone when the machine is on already, is switched off, or is not worked on', async () => {
    await setCredentials();
    await call('POST', 'nodes/metal01/power', { action: 'cycle' });
    expect(hardware.verbs.join(' ')).not.toContain('setBoot');
    await commissioning();
    for (const action of ['on', 'off', 'soft']) {
      expect((await call('POST', 'nodes/metal01/power', { action })).json()).not.toHaveProperty('note');
    }
    expect(hardware.verbs.join(' ')).not.toContain('setBoot');
  });

  it('does not change when the BMC does not take the boot device, and says what ends the work', async () => {
    await commissioning();
    hardware.power = 'off';
    hardware.fails.set('setBoot', 'unsupported');
    const answer = await call('POST', 'nodes/metal01/power', { action: 'on' });
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.json().message).toMatch(/its power was not changed.*coldiron cancel metal01/);
    expect(hardware.power).toBe('off');
  });

  it('is recorded in the audit log with the caller, and in the trail', async () => {
    await setCredentials();
    const answer = await call('POST', 'nodes/metal01/power', { action: 'on' }, 'tech');
    const correlationId = answer.headers['x-correlation-id'];
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({
      actor: 'token:test-tech',
      action: 'bmc.power',
      target: 'node:metal01',
      correlationId,
      after: { action: 'on' },
    });
    const { events } = (await call('GET', 'events?node=metal01&kind=bmc')).json();
    expect(events.at(-1)).toMatchObject({ kind: 'bmc.done', correlation_id: correlationId });
  });

  it.each([
    ['explode', 'action: must be one of on, off, cycle, reset, soft'],
    [undefined, 'action: missing'],
  ])('is refused for the action %s', async (action, message) => {
    expect((await call('POST', 'nodes/metal01/power', { action })).json()).toMatchObject({
      code: 'invalid_request',
      message,
    });
  });

  it('is only recorded when the site is in recorder mode', async () => {
    expect((await call('POST', 'nodes/paper01/power', { action: 'cycle' })).json()).toEqual({
      node: 'paper01',
      mode: 'recorder',
      power: 'unknown',
    });
    expect(seen).toEqual([]);
  });

  it('is refused for a node without a BMC, and for one without a login', async () => {
    const without = await call('GET', 'nodes/node01/power');
    expect([without.statusCode, without.json().code]).toEqual([409, 'bmc_off_limits']);
    const strange = await call('GET', 'nodes/metal01/power');
    expect([strange.statusCode, strange.json().code]).toEqual([502, 'bmc_login_failed']);
  });

  it.each([
    ['unreachable', 504, 'bmc_unreachable'],
    ['authentication', 502, 'bmc_login_failed'],
    ['locked-out', 503, 'bmc_locked_out'],
    ['busy', 503, 'bmc_busy'],
    ['untrusted', 502, 'bmc_untrusted'],
    ['unsupported', 422, 'bmc_unsupported'],
    ['contradiction', 502, 'bmc_failed'],
  ] as const satisfies (readonly [BmcFailure, number, string])[])(
    'that fails with %s is %i %s',
    async (failure, status, code) => {
      await setCredentials();
      hardware.fails.set('powerState', failure);
      const answer = await call('GET', 'nodes/metal01/power');
      expect([answer.statusCode, answer.json()]).toMatchObject([
        status,
        { code, message: `metal01: bmc fails: ${failure}`, correlation_id: expect.any(String) },
      ]);
    },
  );
});

describe('the other verbs', () => {
  beforeEach(() => setCredentials());

  it('set the boot device', async () => {
    const body = { device: 'network', persistent: true, firmware: 'efi' };
    expect((await call('POST', 'nodes/metal01/bootdev', body, 'operator')).json()).toEqual({
      node: 'metal01',
      mode: 'real',
      device: 'network',
      differences: [],
    });
    expect(hardware.boot).toEqual(body);
    await call('POST', 'nodes/metal01/bootdev', { device: 'disk' });
    expect(hardware.boot).toEqual({ device: 'disk', persistent: false, firmware: null });
  });

  it('switch the identify LED', async () => {
    for (const light of ['on', 'off', 30]) {
      expect((await call('POST', 'nodes/metal01/identify', { light }, 'tech')).statusCode).toBe(200);
    }
    for (const light of [0, 256, 'blink']) {
      expect((await call('POST', 'nodes/metal01/identify', { light })).json().code).toBe('invalid_request');
    }
  });

  it('read sensors and the event log, and clear it', async () => {
    expect((await call('GET', 'nodes/metal01/sensors', undefined, 'viewer')).json().sensors).toEqual([
      { name: 'Inlet', kind: 'temperature', value: 23.5, unit: 'degrees C', health: 'ok', states: [] },
    ]);
    expect((await call('GET', 'nodes/metal01/sel', undefined, 'viewer')).json().entries).toEqual([
      { id: '1', at: null, severity: 'warning', message: 'Fan 1 is slow' },
    ]);
    expect((await call('DELETE', 'nodes/metal01/sel', undefined, 'operator')).statusCode).toBe(200);
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({ action: 'bmc.clear-event-log' });
  });

  it('show what the machine said on its console, as one plain line each', async () => {
    const { id } = (await call('GET', 'nodes/metal01')).json();
    const path = 'nodes/metal01/console/log';
    expect((await call('GET', path, undefined, 'viewer')).json()).toEqual({
      ...{ node: 'metal01', boot: 'current', captured: false, lines: [], unfinished: null },
    });
    await writeFile(join(api.stateDir, `${id}.log`), '0 first\n1000 \u001b[2Jsecond\n');
    await writeFile(join(api.stateDir, `${id}.previous.log`), '0 before\n');
    expect((await call('GET', `${path}?lines=1`)).json().lines).toEqual([
      { at: '1970-01-01T00:00:01.000Z', text: '\\u001b[2Jsecond' },
    ]);
    expect((await call('GET', `${path}?boot=previous`)).json()).toMatchObject({
      boot: 'previous',
      lines: [{ text: 'before' }],
    });
    for (const wrong of ['lines=0', 'lines=5001', 'boot=next']) {
      expect((await call('GET', `${path}?${wrong}`)).statusCode).toBe(400);
    }
    expect((await call('GET', 'nodes/nowhere/console/log')).statusCode).toBe(404);
  });

  it('do not open a console without an upgrade request', async () => {
    const answer = await call('GET', 'nodes/metal01/console');
    expect(answer.json()).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('Upgrade') });
  });
});

describe('credentials', () => {
  it('are stored, and appear in no answer, log line, event, audit entry or file', async () => {
    const answer = await setCredentials();
    expect(answer.json()).toEqual({ node: 'metal01', username: 'ADMIN', checked: true });
    await call('GET', 'nodes/metal01/power');
    const said = [
      answer.body,
      api.log.text,
      (await call('GET', 'nodes/metal01')).body,
      (await call('GET', 'events?limit=1000')).body,
      (await call('GET', 'audit?limit=1000')).body,
    ];
    for (const text of said) expect(text).not.toContain(PASSWORD);
    const { current } = await api.store.bmcCredentials((await call('GET', 'nodes/metal01')).json().id);
    expect(current?.password).toMatch(/^v2\.[0-9a-f]{16}\./);
  });

  it('are not stored when a login with them fails', async () => {
    hardware.fails.set('powerState', 'authentication');
    expect((await setCredentials()).json()).toMatchObject({ code: 'bmc_login_failed' });
    expect((await setCredentials('metal01', { check: false })).json()).toMatchObject({ checked: false });
  });

  it.each([
    ['without a password', { username: 'ADMIN' }, 'password: missing'],
    ['with something else', { username: 'ADMIN', password: 'x', role: 'x' }, 'role: unknown field'],
  ])('are refused %s', async (_how, body, message) => {
    expect((await call('PUT', 'nodes/metal01/bmc/credentials', body)).json()).toMatchObject({ message });
  });

  it('that are refused are not quoted in the error', async () => {
    const body = { username: 'ADMIN', password: [PASSWORD], key: PASSWORD.repeat(3) };
    const answer = await call('PUT', 'nodes/metal01/bmc/credentials', body);
    expect(answer.statusCode).toBe(400);
    expect(answer.body + api.log.text).not.toContain(PASSWORD);
  });

  it('cannot forget a certificate that was never seen', async () => {
    expect((await call('DELETE', 'nodes/metal01/bmc/certificate')).json()).toMatchObject({ code: 'conflict' });
  });
});

describe('the fleet', () => {
  it('lists the learned quirks', async () => {
    const kind = { vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0' };
    await api.store.countBoot({ ...kind, method: 'ipmi-efi-once', obeyed: false, at: Date.UTC(2026, 0, 1) });
    expect((await call('GET', 'bmc/quirks', undefined, 'viewer')).json()).toEqual({
      quirks: [{ ...kind, method: 'ipmi-efi-once', worked: 0, ignored: 1, last_at: '2026-01-01T00:00:00.000Z' }],
    });
  });

  it('is not scanned when the site file names no network', async () => {
    const answer = await call('POST', 'bmc/scan', { networks: ['10.0.0.0/24'] }, 'operator');
    expect(answer.json()).toMatchObject({
      code: 'bmc_off_limits',
      message: expect.stringContaining('bmc.scan'),
      hint: expect.stringMatching(/^Name the networks in the site file/),
    });
  });
});
