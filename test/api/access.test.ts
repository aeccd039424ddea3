import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Authenticate, guardRoutes } from '../../appliance/api/access.ts';
import { createApp } from '../../appliance/api/base-app.ts';
import { OPERATION_IDS, OPERATIONS } from '../../appliance/contract/operations.ts';
import { WIRE, type Wire } from '../../appliance/contract/wire.ts';
import { mayActAs, ROLES, type Role } from '../../appliance/domain/token.ts';
import { sampleOf } from '../attacks/hostile-samples.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const requestTo = (route: { method: string; url: string }): InjectOptions => ({
  method: route.method as 'GET',
  // A stream that is opened would not end; its query is refused.
  url: route.url
    .replace(':node', 'node01')
    .replace(':token', '0123456789ab')
    .replace(/\/stream$/, '/stream?after=x'),
  // A body that no route accepts: an authorised caller fails the body check, and nothing changes.
  ...(route.method === 'POST' && { payload: [] }),
});

/** The intended roles, written by hand and not taken from the operation table. */
const EXPECTED: readonly string[] = `
public GET /health
viewer GET /nodes
viewer GET /nodes/:node
viewer GET /nodes/:node/presence
viewer GET /nodes/:node/sessions
viewer GET /nodes/:node/facts
viewer GET /nodes/:node/cabling
viewer GET /nodes/:node/explain
viewer GET /nodes/:node/diagnosis
viewer GET /nodes/:node/timeline
operator GET /nodes/:node/recording
viewer GET /diagnosis
viewer GET /nodes/:node/tasks
viewer GET /nodes/:node/tasks/:task
viewer GET /nodes/:node/enrollment
viewer GET /nodes/:node/power
viewer GET /nodes/:node/sensors
viewer GET /nodes/:node/sel
viewer GET /nodes/:node/console/log
viewer GET /bmc/quirks
viewer GET /sites
viewer GET /networks
viewer GET /skus
viewer GET /profiles
viewer GET /clusters
viewer GET /templates
viewer GET /onboardings
viewer GET /onboardings/:onboarding
viewer GET /leases
viewer GET /listeners
viewer GET /appliance/problems
viewer GET /boot-contract
viewer GET /events
viewer GET /events/stream
viewer GET /fleet
viewer GET /metrics
viewer GET /exports
viewer GET /exports/:receiver/dead-letters
viewer GET /ca
viewer GET /openapi.json
tech POST /nodes/:node/power
tech POST /nodes/:node/identify
operator POST /nodes
operator POST /nodes/import
operator POST /nodes/:node/accept
operator POST /nodes/:node/commission
operator POST /nodes/:node/deploy
operator POST /nodes/:node/release
operator POST /nodes/:node/mark-fixed
operator POST /nodes/:node/cancel
operator POST /onboardings
operator POST /onboardings/:onboarding/confirm
operator POST /onboardings/:onboarding/cancel
operator POST /onboardings/:onboarding/retry
operator POST /nodes/:node/rescue
operator POST /nodes/:node/end-rescue
operator POST /nodes/:node/drain
operator POST /nodes/:node/drained
operator POST /nodes/:node/undrain
operator POST /nodes/:node/retire
operator POST /nodes/:node/reactivate
operator POST /nodes/:node/quarantine
operator POST /nodes/:node/clear-quarantine
operator POST /nodes/:node/rebind
operator POST /nodes/:node/tasks
operator POST /nodes/:node/enrollment-token
operator POST /nodes/:node/bootdev
operator DELETE /nodes/:node/sel
operator GET /nodes/:node/console
operator GET /nodes/:node/rendering
operator GET /nodes/:node/rendering/difference
operator GET /sites/:site/rendering
operator POST /bmc/scan
operator POST /exports/:receiver/replay
operator GET /audit
operator GET /audit/verify
admin POST /admin/nodes
admin POST /nodes/:node/remove
admin POST /nodes/:node/rendering
admin PUT /nodes/:node/bmc/credentials
admin POST /nodes/:node/bmc/rotate
admin DELETE /nodes/:node/bmc/certificate
admin POST /inventory/apply
admin POST /ca/rotate
admin POST /ca/retire
admin POST /ca/task-key
admin GET /tokens
admin POST /tokens
admin POST /tokens/:token/revoke
viewer GET /allocations
viewer GET /allocations/:allocation
operator POST /allocations
operator POST /allocations/:allocation/release
admin POST /allocations/:allocation/clean-up
operator PUT /allocations/:allocation/key-set
viewer GET /sudo-policies
operator PUT /sudo-policies/:policy
admin POST /sudo-policies/:policy/review
operator DELETE /sudo-policies/:policy
viewer GET /ssh-keys
operator POST /ssh-keys
operator DELETE /ssh-keys/:key
viewer GET /key-sets
viewer GET /key-sets/:set
operator PUT /key-sets/:set
operator DELETE /key-sets/:set
operator POST /key-sets/:set/rotate
operator POST /key-sets/:set/validate
operator POST /key-sets/:set/finish
operator POST /key-sets/:set/rollback
viewer GET /site-key-sets
admin PUT /sites/:site/key-set
admin POST /sites/:site/key-set/rollback
viewer GET /admin/nodes
viewer GET /admin/nodes/:node
operator POST /admin/nodes/:node/enrollment-token
operator POST /admin/nodes/:node/retire
operator POST /admin/nodes/:node/reactivate
admin POST /admin/nodes/:node/remove
public GET /healthz
operator POST /admin/nodes/:node/reissue-enrollment
operator POST /nodes/:node/reissue-enrollment
operator POST /admin/nodes/:node/bootstrap-script
operator POST /nodes/:node/bootstrap-script
viewer GET /nodes/:node/agent
operator POST /nodes/:node/agent/reconcile
operator POST /nodes/:node/agent/update
viewer GET /nodes/:node/agent/logs
operator POST /nodes/:node/tasks/:task/resume
operator POST /nodes/:node/tasks/:task/abandon
viewer GET /proposals
viewer GET /proposals/:proposal
agent POST /proposals
tech POST /proposals/:proposal/approve
tech POST /proposals/:proposal/reject
operator POST /skus/:sku/rollback
operator GET /nodes/:node/terminal
viewer GET /terminals
operator DELETE /terminals/:terminal
viewer GET /session
public POST /session
viewer DELETE /session
viewer POST /session/codes
`
  .trim()
  .split('\n');

const closed = () => api.app.routeTable.filter(({ access }) => access !== 'public');

describe('the route table', () => {
  it('contains the routes of the API, so that the loops below are not empty', () => {
    const routes = api.app.routeTable.map(({ method, url }) => `${method} ${url}`);
    expect(routes).toContain('POST /api/v1/admin/nodes');
    expect(routes).toContain('POST /api/v1/nodes/:node/remove');
    expect(routes).toContain('GET /api/v1/audit/verify');
    expect(routes.length).toBeGreaterThan(30);
  });

  it('is public for health and signing in alone', () => {
    const open = api.app.routeTable.filter(({ access }) => access === 'public');
    expect(open.map(({ method, url }) => `${method} ${url}`).sort()).toEqual([
      'GET /api/v1/healthz',
      'GET /health',
      'HEAD /api/v1/healthz',
      'HEAD /health',
      'POST /api/v1/session',
    ]);
  });

  it('answers 401 on every other route to a caller without a token', async () => {
    for (const route of closed()) {
      const answer = await api.call(requestTo(route));
      expect(answer.statusCode, `${route.method} ${route.url}`).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
  });

  it('requires the listed role on every route, and has no other route', () => {
    const declared = api.app.routeTable
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, url, access }) => `${access} ${method} ${url.replace('/api/v1', '')}`);
    expect(declared.toSorted()).toEqual(EXPECTED.toSorted());
  });

  it('answers 403 to every role that is too low, and lets every other one through to the route', async () => {
    for (const route of closed()) {
      for (const role of ROLES) {
        const { statusCode } = await api.call({ role, ...requestTo(route) });
        const needed = EXPECTED.find(
          (line) =>
            line.endsWith(` ${route.url.replace('/api/v1', '')}`) &&
            line.includes(` ${route.method === 'HEAD' ? 'GET' : route.method} `),
        );
        const least = needed?.split(' ')[0] as (typeof ROLES)[number];
        const may = mayActAs(role, least);
        if (may) expect([401, 403], `${role} on ${route.method} ${route.url}`).not.toContain(statusCode);
        else expect(statusCode, `${role} on ${route.method} ${route.url}`).toBe(403);
      }
    }
  });

  it('answers 403 to every lesser role also for a request that the operation accepts, and writes nothing', async () => {
    const before = await api.store.auditEntries(0, 1000);
    const refused: string[] = [];
    for (const id of OPERATION_IDS) {
      const { method, path } = OPERATIONS[id];
      const least = EXPECTED.find((line) => line.endsWith(` ${method} ${path.replace('/api/v1', '')}`))?.split(' ')[0];
      for (const role of ROLES.filter((held) => least !== 'public' && !mayActAs(held, least as Role))) {
        const { body }: Wire = WIRE[id];
        const url = path.replace(':node', 'node01').replace(/:[a-z]+/g, 'anything');
        const payload = body === undefined ? {} : { payload: sampleOf(body, 'node01') as object };
        const answer = await api.call({ role, method, url, ...payload });
        expect([answer.statusCode, answer.json().code], `${role} on ${id}`).toEqual([403, 'forbidden']);
        refused.push(`${role} ${id}`);
      }
    }
    expect(refused.length).toBeGreaterThan(130);
    expect(await api.store.auditEntries(0, 1000)).toEqual(before);
  });

  it('lets only admins remove a node, apply an inventory, create a token or change BMC credentials', () => {
    const adminOnly = api.app.routeTable.filter(({ access }) => access === 'admin');
    expect(new Set(adminOnly.map(({ url }) => url))).toEqual(
      new Set([
        '/api/v1/admin/nodes',
        '/api/v1/admin/nodes/:node/remove',
        '/api/v1/allocations/:allocation/clean-up',
        '/api/v1/ca/retire',
        '/api/v1/ca/rotate',
        '/api/v1/ca/task-key',
        '/api/v1/inventory/apply',
        '/api/v1/nodes/:node/bmc/certificate',
        '/api/v1/nodes/:node/bmc/credentials',
        '/api/v1/nodes/:node/bmc/rotate',
        '/api/v1/nodes/:node/remove',
        '/api/v1/nodes/:node/rendering',
        '/api/v1/sites/:site/key-set',
        '/api/v1/sites/:site/key-set/rollback',
        '/api/v1/sudo-policies/:policy/review',
        '/api/v1/tokens',
        '/api/v1/tokens/:token/revoke',
      ]),
    );
  });
});

describe('a route without a declared role', () => {
  const rejectAll: Authenticate = async () => ({ known: false, reason: 'nobody', retryAfterSeconds: null });

  it.each([
    ['says nothing', {}],
    ['says something else', { config: { access: 'everybody' } }],
  ])('cannot be registered when it %s', async (_what, options) => {
    const app = createApp({ logger: api.app.log, newId: () => 'x' });
    guardRoutes(app, rejectAll);
    expect(() => app.get('/new', options as object, async () => 'hello')).toThrow(
      'the route GET /new does not declare who may call it',
    );
    await app.close();
  });
});

describe('an unknown path', () => {
  it.each(['/api', '/api/', '/api/v1/nothing', '/api/v1/nodes/node01/explode?x=1', '/api?x'])(
    'below /api answers 401 without a token, like a known path: %s',
    async (url) => {
      expect((await api.call({ url })).json()).toMatchObject({ code: 'unauthenticated' });
      const answer = await api.call({ url, role: 'viewer' });
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
    },
  );

  it('elsewhere answers 404', async () => {
    const answer = await api.call({ url: '/apis' });
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  });
});
