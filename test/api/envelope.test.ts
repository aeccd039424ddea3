import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode } from '../../appliance/domain/errors.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await openApi({
    probe: { reached: false, reason: '10.9.9.9 port 22: no answer before the timeout' },
    deps: ({ commands }) => ({
      commands: {
        request: async (machine, event, by) => {
          if (by.note === 'break') throw new TypeError('secret detail of our own mistake');
          return commands.request(machine, event, by);
        },
      },
    }),
  });
});
afterAll(() => api.close());

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const json = { 'content-type': 'application/json' };
const host = {
  host: '10.9.9.9',
  port: 22,
  ssh_username: 'hpcadmin',
  ssh_public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  sku: 'h100',
  gpus_total: 8,
  region_code: 'region-1',
  onboarding_mode: 'manual',
};

type Row = readonly [what: string, code: ErrorCode, message: RegExp, request: InjectOptions & { role?: Role }];
const admin = (url: string, payload: object) => ({ role: 'admin', method: 'POST', url, payload }) as const;

const FAILURES: readonly Row[] = [
  ['no token', 'unauthenticated', /no token/, { url: '/api/v1/nodes' }],
  ['too low a role', 'forbidden', /needs the role admin; yours is viewer/, { url: '/api/v1/tokens', role: 'viewer' }],
  ['an unknown path', 'not_found', /there is no GET \/nothing/, { url: '/nothing' }],
  ['an unknown node', 'not_found', /node99/, { url: '/api/v1/nodes/node99', role: 'viewer' }],
  ['a bad query', 'invalid_request', /^limit: must be/, { url: '/api/v1/nodes?limit=many', role: 'viewer' }],
  ['an unknown query', 'invalid_request', /^page: unknown field/, { url: '/api/v1/nodes?page=2', role: 'viewer' }],
  ['a missing field', 'invalid_request', /^role: missing$/, admin('/api/v1/tokens', { name: 'x' })],
  [
    'a wrong choice',
    'invalid_request',
    /^role: must be one of viewer,/,
    admin('/api/v1/tokens', { name: 'x', role: 'god' }),
  ],
  ['text for a number', 'invalid_request', /^port: must be/, admin('/api/v1/admin/nodes', { ...host, port: '22' })],
  ['null for a number', 'invalid_request', /^port: must be/, admin('/api/v1/admin/nodes', { ...host, port: null })],
  ['a bad inventory', 'invalid_inventory', /nodes\[0\]/, admin('/api/v1/nodes', { name: 'node09', sku: 'nope' })],
  ['an unknown SKU', 'invalid_sku', /no p100/, admin('/api/v1/admin/nodes', { ...host, sku: 'p100' })],
  [
    'a failed probe',
    'probe_failed',
    /no answer before the timeout/,
    admin('/api/v1/admin/nodes', { ...host, probe: true }),
  ],
  [
    'a missing adapter',
    'service_unavailable',
    /MAAS/,
    admin('/api/v1/admin/nodes', { ...host, onboarding_mode: 'maas' }),
  ],
  ['a name in use', 'conflict', /node01/, admin('/api/v1/nodes', { name: 'node01' })],
  ['a move that is not possible', 'conflict', /node01: reactivate/, admin('/api/v1/nodes/node01/reactivate', {})],
  ['our own mistake', 'internal', /correlation id/, admin('/api/v1/nodes/node01/retire', { note: 'break' })],
  [
    'a body that is no JSON',
    'invalid_request',
    /not valid JSON/,
    { ...admin('/api/v1/tokens', {}), payload: '{"a":', headers: json },
  ],
  [
    'a poisoned body',
    'invalid_request',
    /./,
    { ...admin('/api/v1/tokens', {}), payload: '{"__proto__":{"a":1}}', headers: json },
  ],
  ['an empty JSON body', 'invalid_request', /empty/, { ...admin('/api/v1/tokens', {}), payload: '', headers: json }],
  [
    'a body of another kind',
    'invalid_request',
    /application\/json/,
    { ...admin('/api/v1/tokens', {}), payload: 'name: x', headers: { 'content-type': 'text/plain' } },
  ],
  ['too large a body', 'payload_too_large', /larger/, admin('/api/v1/tokens', { name: 'x'.repeat(1024 * 1024) })],
  ['a path that cannot be decoded', 'invalid_request', /URL/, { url: '/api/v1/nodes/%zz', role: 'viewer' }],
  ['a path without end', 'invalid_request', /too long/, { url: `/api/v1/nodes/${'x'.repeat(500)}`, role: 'viewer' }],
];

describe('a failure', () => {
  it.each(FAILURES)(
    'for %s is %s, in the envelope, with the status of the table',
    async (_what, code, message, request) => {
      const answer = await api.call(request);
      const body = answer.json();
      expect(body).toEqual({
        code,
        message: expect.stringMatching(message),
        correlation_id: expect.stringMatching(UUID),
        ...(body.details && { details: expect.any(Array) }),
        ...(body.hint && { hint: expect.any(String) }),
      });
      expect(answer.statusCode).toBe(ERRORS[code].status);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.headers['x-correlation-id']).toBe(body.correlation_id);
    },
  );

  it('lists every finding when there are several', async () => {
    const { details, message } = (
      await api.call(admin('/api/v1/admin/nodes', { ...host, port: 0, extra: 1, sku: 7 }))
    ).json();
    expect(message).toBe('the request has 3 problems');
    expect(details).toEqual([
      expect.stringMatching(/^extra: unknown field$/),
      expect.stringMatching(/^port: must be/),
      expect.stringMatching(/^sku: must be/),
    ]);
  });

  it('is found in the log by its correlation id, with its code and reason', async () => {
    const { correlation_id: id } = (await api.call(admin('/api/v1/admin/nodes', { ...host, port: 0 }))).json();
    const lines = api.log.lines.filter((line) => line.correlation_id === id);
    expect(lines).toEqual([
      expect.objectContaining({ status: 400, code: 'invalid_request', reason: expect.stringContaining('port') }),
    ]);
  });

  it('inside the appliance shows the caller no details, and logs all of them', async () => {
    const answer = await api.call(admin('/api/v1/nodes/node01/retire', { note: 'break' }));
    expect(answer.body).not.toContain('secret detail');
    const line = api.log.lines.find(({ correlation_id: id }) => id === answer.json().correlation_id);
    expect(line).toMatchObject({ level: 50, status: 500, err: { message: 'secret detail of our own mistake' } });
  });

  it('of the HTTP parser has the same envelope', async () => {
    await api.app.listen({ port: 0, host: '127.0.0.1' });
    const socket = connect((api.app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.end('NONSENSE\r\n\r\n');
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toEqual({
      code: 'invalid_request',
      message: 'this is not HTTP/1.1',
      correlation_id: expect.stringMatching(UUID),
    });
  });
});

describe('the correlation id', () => {
  it('is the one that the caller sent, in the answer and in the log', async () => {
    const headers = { 'x-correlation-id': 'ticket-4711.a_B' };
    const answer = await api.call({ url: '/api/v1/nodes/nope', role: 'viewer', headers });
    expect(answer.headers['x-correlation-id']).toBe('ticket-4711.a_B');
    expect(answer.json().correlation_id).toBe('ticket-4711.a_B');
    expect(api.log.lines.at(-1)).toMatchObject({ correlation_id: 'ticket-4711.a_B', status: 404 });
  });

  it.each(['', 'x'.repeat(65), 'a b', 'a/b', 'a"b', 'ä'])('is a new one when the caller sent %j', async (sent) => {
    const answer = await api.call({ url: '/health', headers: { 'x-correlation-id': sent } });
    expect(answer.headers['x-correlation-id']).toMatch(UUID);
  });

  it('is recorded with the changes of the request', async () => {
    const headers = { 'x-correlation-id': 'change-1' };
    await api.call({ ...admin('/api/v1/tokens', { name: 'corr', role: 'viewer' }), headers });
    expect((await api.store.auditEntries(0, 1, true))[0]).toMatchObject({
      action: 'token.created',
      actor: 'token:test-admin',
      correlationId: 'change-1',
    });
  });
});

describe('the log', () => {
  it('has a line for every failure, with its correlation id', async () => {
    for (const [what, , , request] of FAILURES) {
      const { correlation_id: id } = (await api.call(request)).json();
      expect(
        api.log.lines.filter(({ correlation_id: logged }) => logged === id),
        what,
      ).toHaveLength(1);
    }
  });

  it('has one line per request: method, route, status, actor, correlation id, duration', async () => {
    const before = api.log.lines.length;
    await api.call({ url: '/api/v1/nodes/node01?x', role: 'viewer' });
    await api.call({ url: '/api/v1/nodes/node01', role: 'viewer' });
    expect(api.log.lines.slice(before)).toHaveLength(2);
    expect(api.log.lines.at(-1)).toMatchObject({
      msg: 'request',
      method: 'GET',
      route: '/api/v1/nodes/:node',
      status: 200,
      actor: 'token:test-viewer',
      correlation_id: expect.stringMatching(UUID),
      ms: expect.any(Number),
    });
  });
});
