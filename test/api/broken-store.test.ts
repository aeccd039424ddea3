import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Authenticate } from '../../appliance/api/access.ts';
import { bearerAuthenticator } from '../../appliance/api/auth.ts';
import { brokenStore } from '../store/broken-store.ts';
import { type Fixture, openApi } from './api-fixture.ts';

const broken = brokenStore();
const NODE09 = {
  name: 'node09',
  sku: 'gp1',
  interfaces: [{ name: 'eth0', mac: '52:54:00:12:34:99', network: 'provisioning' }],
};
const anyone: Authenticate = async () => ({ known: true, caller: { actor: 'local:test', role: 'admin' } });

let api: Fixture;
beforeAll(async () => {
  api = await openApi({
    deps: () => ({
      store: broken,
      authenticate: anyone,
      commands: { request: (machine) => broken.machine(machine).then(() => Promise.reject(new Error('not broken'))) },
    }),
  });
});
afterAll(() => api.close());

describe('a store that has failed', () => {
  it.each([
    ['GET', '/api/v1/nodes/00000000-0000-4000-8000-000000000000', undefined],
    ['GET', '/api/v1/leases', undefined],
    ['GET', '/api/v1/events', undefined],
    ['GET', '/api/v1/audit', undefined],
    ['GET', '/api/v1/audit/verify', undefined],
    ['GET', '/api/v1/tokens', undefined],
    ['POST', '/api/v1/tokens', { name: 'ci', role: 'viewer' }],
    ['POST', '/api/v1/tokens/0123456789ab/revoke', undefined],
    ['POST', '/api/v1/nodes', NODE09],
    ['POST', '/api/v1/nodes/import', { nodes: [NODE09] }],
    ['POST', '/api/v1/nodes/node01/retire', {}],
    ['POST', '/api/v1/inventory/apply', { sources: [{ name: 'rack', document: {} }] }],
  ] as const)('answers 503 on %s %s, never 404', async (method, url, payload) => {
    const answer = await api.app.inject({ method, url, ...(payload && { payload }) });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/the disk is gone/),
    });
  });

  it('does not block reads from memory', async () => {
    expect((await api.app.inject('/api/v1/nodes/node01')).statusCode).toBe(200);
    expect((await api.app.inject('/api/v1/nodes')).json().total).toBe(3);
  });

  it('authenticates nobody, and does not report a valid token as invalid', async () => {
    const closed = await openApi({ deps: ({ clock }) => ({ authenticate: bearerAuthenticator(broken, clock) }) });
    try {
      const answer = await closed.call({ role: 'admin', url: '/api/v1/nodes' });
      expect([answer.statusCode, answer.json().code]).toEqual([503, 'store_unavailable']);
    } finally {
      await closed.close();
    }
  });
});
