import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../appliance/contract/operations.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

// Field names of the schemas, so that the bodies pass the first checks.
const FIELDS = [
  ...['name', 'role', 'expires_in_hours', 'nodes', 'dry_run', 'sources', 'document', 'file', 'note', 'confirm'],
  ...['host', 'port', 'ssh_username', 'ssh_public_key', 'sku', 'gpus_total', 'region_code', 'onboarding_mode', 'probe'],
  ...[
    'hostname',
    'interfaces',
    'bmc',
    'labels',
    'sites',
    'networks',
    'profiles',
    'clusters',
    'prefix',
    'mac',
    'address',
  ],
];
const VALUES = [
  'node01',
  'gp1',
  'h100',
  'worker',
  'manual',
  'viewer',
  '10.0.100.0/24',
  '52:54:00:12:34:56',
  22,
  8,
  true,
];

const { anything } = fc.letrec((tie) => ({
  anything: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    fc.constantFrom(...VALUES),
    fc.jsonValue({ maxDepth: 0 }),
    fc.string({ unit: 'binary' }),
    fc.array(tie('anything'), { maxLength: 4 }),
    fc.dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...FIELDS) }, fc.string()), tie('anything'), {
      maxKeys: 8,
    }),
  ),
}));

const sane = async (answer: { statusCode: number; body: string }, sent: unknown): Promise<void> => {
  const what = `${JSON.stringify(sent)} → ${answer.body}`;
  if (answer.statusCode < 400) return;
  const error = JSON.parse(answer.body);
  expect(error, what).toHaveProperty('correlation_id');
  // What the site has switched off says so with 503; any other 5xx is an unhandled request.
  if (error.code !== 'service_unavailable') expect(answer.statusCode, what).toBeLessThan(500);
};

describe('random input', () => {
  it('as a body, to any route, never makes an internal error', async () => {
    const routes = api.app.routeTable.filter(({ method }) => method === 'POST').map(({ url }) => url);
    expect(routes.length).toBeGreaterThan(10);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), anything, async (route, body) => {
        const url = route.replace(':node', 'node01').replace(':token', '0123456789ab');
        const payload = JSON.stringify(body);
        const headers = { 'content-type': 'application/json' };
        await sane(await api.call({ role: 'admin', method: 'POST', url, payload, headers }), { url, body });
      }),
      { numRuns: 600, examples: routes.map((route): [string, object] => [route, {}]) },
    );
  });

  it('as bytes of a body never makes an internal error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const payload = Buffer.from(bytes);
        const headers = { 'content-type': 'application/json' };
        await sane(await api.call({ role: 'admin', method: 'POST', url: '/api/v1/tokens', payload, headers }), bytes);
      }),
    );
  });

  it('in a path or a query never makes an internal error', async () => {
    // The stream of events has no end; test/api/live has its input.
    const routes = api.app.routeTable
      .filter(({ method, url }) => method === 'GET' && url !== OPERATIONS.streamEvents.path)
      .map(({ url }) => url);
    const key = fc.oneof(
      fc.constantFrom('limit', 'after', 'newest', 'state', 'q', 'node', 'kind', 'network', 'arch', 'via', 'as'),
      fc.string(),
    );
    const value = fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom('true', 'node01', '7', '10.0.100.1'));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.oneof(fc.constant('node01'), fc.string()),
        fc.array(fc.tuple(key, value), { maxLength: 3 }),
        async (route, node, query) => {
          const url = `${route.replace(':node', () => encodeURIComponent(node))}?${new URLSearchParams(query)}`;
          await sane(await api.call({ role: 'admin', url }), url);
        },
      ),
      { numRuns: 400 },
    );
  });
});
