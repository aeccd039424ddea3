import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { type Fixture, type FixtureOptions, openApi } from './api-fixture.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA ops@example.com';
const REQUEST = {
  host: '10.0.200.77',
  port: 22,
  ssh_username: 'hpcadmin',
  ssh_public_key: KEY,
  sku: 'h100',
  gpus_total: 8,
  region_code: 'region-1',
  onboarding_mode: 'manual',
  probe: true,
};

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const register = (change: object = {}, on: Fixture = api) =>
  on.call({ role: 'admin', method: 'POST', url: '/api/v1/admin/nodes', payload: { ...REQUEST, ...change } });
const count = (on: Fixture = api) => on.fleet.size;

async function reopen(options: FixtureOptions): Promise<void> {
  await api.close();
  api = await openApi(options);
}

describe('registering a running host', () => {
  it('answers with the registered node and what the probe found', async () => {
    const answer = await register();
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      hostname: 'node-10-0-200-77',
      state: 'registered',
      source: 'api',
      sku: 'h100',
      gpus: 8,
      region: 'region-1',
      site: 'lab',
      architecture: 'x86_64',
      enrollment: 'manual',
      access: { host: '10.0.200.77', port: 22, ssh_username: 'hpcadmin' },
      probe: { performed: true, banner: 'SSH-2.0-OpenSSH_9.6', milliseconds: 4, host_key: null },
    });
    expect(api.probed).toEqual([{ host: '10.0.200.77', port: 22 }]);
    expect(api.fleet.machineById(answer.json().id)?.spec.access?.sshPublicKey).toBe(KEY);
  });

  it('does not probe by default', async () => {
    expect((await register({ probe: false })).json()).toMatchObject({
      probe: { performed: false, banner: null, milliseconds: null, host_key: null },
    });
    expect(api.probed).toEqual([]);
  });

  it('takes the given host name, or the first label of a DNS name', async () => {
    expect((await register({ hostname: 'gpu01' })).json()).toMatchObject({ hostname: 'gpu01' });
    expect((await register({ host: 'GPU02.example.com' })).json()).toMatchObject({
      hostname: 'gpu02',
      access: { host: 'gpu02.example.com' },
    });
  });

  it('leaves the site empty when the region does not determine it', async () => {
    expect((await register({ region_code: 'region-2' })).json()).toMatchObject({ site: null, region: 'region-2' });
  });

  it('is audited with the fingerprint of the key, under the name of the caller', async () => {
    const { id } = (await register()).json();
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({
      actor: 'token:test-admin',
      action: 'node.registered',
      target: 'node:node-10-0-200-77',
      before: null,
      after: {
        id,
        sku: 'h100',
        host: '10.0.200.77',
        ssh_key: 'SHA256:kmYcvdi2GkPeWxB6XLjrZB8JHsy2Hm8luHMFp9GMvqk',
        ssh_banner: 'SSH-2.0-OpenSSH_9.6',
        ssh_host_key: null,
      },
    });
    expect(await api.store.verifyAudit()).toMatchObject({ intact: true });
  });

  it.each([
    [
      'is not in the catalogue',
      { sku: 'p100' },
      expect.stringMatching(/^sku: the catalogue has no p100; active are (?!.*v100).*h100/),
    ],
    ['is not active', { sku: 'v100' }, expect.stringMatching(/^sku: v100 is not active; active are /)],
    ['has other GPUs', { gpus_total: 4 }, 'gpus_total: h100 has 8, not 4'],
    [
      'is not offered there',
      { region_code: 'mars' },
      'region_code: h100 is offered in region-1, region-2, not in mars',
    ],
  ])('refuses a SKU that %s', async (_why, change, message) => {
    const answer = await register(change);
    expect(answer.statusCode).toBe(422);
    expect(answer.json()).toMatchObject({ code: 'invalid_sku', message, correlation_id: expect.any(String) });
    expect(count()).toBe(3);
    expect(api.probed).toEqual([]);
  });

  it('lists every mismatch of the SKU', async () => {
    expect((await register({ gpus_total: 1, region_code: 'mars' })).json().details).toHaveLength(2);
  });

  it.each([
    ['the key', { ssh_public_key: 'ssh-ed25519 AAAA...' }, /^ssh_public_key: .*not base64/],
    ['the host', { host: '10.0.0.256' }, /^host: not an IPv4 address or DNS name/],
    ['the host, spelled with a port', { host: '10.0.0.1:22' }, /^host: /],
    ['the host name', { hostname: 'GPU_1' }, /^hostname: /],
    ['the user', { ssh_username: 'root; reboot' }, /^ssh_username: /],
    ['the mode', { onboarding_mode: 'auto' }, /^onboarding_mode: must be one of manual, maas/],
  ])('names %s when it is invalid', async (_what, change, message) => {
    const answer = await register(change);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(message) });
    expect(count()).toBe(3);
  });

  it('refuses a host that is already a node, under any name', async () => {
    await register({ hostname: 'gpu01' });
    const again = await register({ hostname: 'gpu02', probe: false });
    expect(again.statusCode).toBe(409);
    expect(again.json()).toMatchObject({
      code: 'conflict',
      message: 'host: 10.0.200.77 is node gpu01 already (registered)',
    });
    expect((await register({ host: '10.0.200.78', hostname: 'node01' })).json()).toMatchObject({
      message: 'hostname: there is a node node01 already (registered)',
    });
  });

  it('creates one node when the same host is sent twice at once', async () => {
    const answers = await Promise.all([register({ hostname: 'gpu01' }), register({ hostname: 'gpu02' })]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409]);
    expect(count()).toBe(4);
  });

  it('creates nothing when the probe fails, and says what failed', async () => {
    await reopen({ probe: { reached: false, reason: '10.0.200.77 port 22: the connection was refused' } });
    const answer = await register();
    expect(answer.statusCode).toBe(422);
    expect(answer.json()).toMatchObject({
      code: 'probe_failed',
      message: '10.0.200.77 port 22: the connection was refused',
    });
    expect(count()).toBe(3);
    expect((await register({ probe: false })).statusCode).toBe(201);
  });

  it('reports that MAAS is not configured, and accepts the same host in manual mode', async () => {
    const unavailable = await register({ onboarding_mode: 'maas' });
    expect(unavailable.statusCode).toBe(503);
    expect(unavailable.json()).toMatchObject({ code: 'service_unavailable', correlation_id: expect.any(String) });
    expect([count(), api.probed]).toEqual([3, []]);
    expect((await register()).statusCode).toBe(201);
  });

  it('opens a run through MAAS for a host that MAAS has, and shows both', async () => {
    const found: [string, string | null][] = [];
    const maas = {
      find: async (host: string, name: string | null) => {
        found.push([host, name]);
        return { hostname: 'c07u31', bmcAddress: '10.0.200.31' };
      },
    };
    await reopen({ deps: () => ({ maas }) });
    const refused = await register({ onboarding_mode: 'maas' });
    expect([refused.statusCode, refused.json().message]).toEqual([
      503,
      expect.stringContaining('onboarding.maas.profile'),
    ]);
    expect(count()).toBe(3);
    const site = { name: 'lab', region: 'region-1', bmc_mode: 'recorder', onboarding: { maas: { profile: 'worker' } } };
    const payload = { sources: [{ name: 'policy', document: { sites: [site] } }] };
    expect(
      (await api.call({ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply', payload })).statusCode,
    ).toBe(200);
    const answer = await register({ onboarding_mode: 'maas' });
    expect(answer.statusCode, answer.body).toBe(201);
    expect(answer.json()).toMatchObject({
      ...{ hostname: 'c07u31', state: 'registered', enrollment: 'first-boot', profile: 'worker', site: 'lab' },
      ...{ maas_system_id: null, bmc: { address: '10.0.200.31' }, onboarding: expect.any(String) },
    });
    expect(found.at(-1)).toEqual(['10.0.200.77', null]);
    const run = (await api.call({ role: 'viewer', url: `/api/v1/onboardings/${answer.json().onboarding}` })).json();
    expect(run).toMatchObject({
      provider: 'maas',
      hostname: 'c07u31',
      ipmi_ip: '10.0.200.31',
      state: 'awaiting-confirmation',
    });
  });

  it('creates nothing when MAAS fails, and accepts the same host in manual mode', async () => {
    const maas = {
      find: async () => {
        throw new ColdironError('service_unavailable', 'MAAS cannot be reached: connect ECONNREFUSED');
      },
    };
    await reopen({ deps: () => ({ maas }) });
    const answer = await register({ onboarding_mode: 'maas' });
    expect([answer.statusCode, answer.json().code, answer.json().message]).toEqual([
      ...[503, 'service_unavailable', expect.stringContaining('cannot be reached')],
    ]);
    expect(count()).toBe(3);
    expect((await register()).statusCode).toBe(201);
  });

  it('retries when the inventory changed during the probe, and fails after a few retries', async () => {
    const lost = { times: 2 };
    await reopen({
      deps: ({ store }) => ({
        store: {
          ...store,
          writeInventory: async (writes) => {
            if (lost.times > 0) {
              lost.times -= 1;
              throw new ColdironError('version_conflict', 'the inventory has changed');
            }
            return store.writeInventory(writes);
          },
        },
      }),
    });
    expect((await register()).statusCode).toBe(201);
    lost.times = 100;
    expect((await register({ host: '10.0.200.78' })).json()).toMatchObject({ code: 'version_conflict' });
    expect(lost.times).toBe(95);
  });
});
