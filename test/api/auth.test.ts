import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiToken } from '../../appliance/api/api-token.ts';
import { bearerAuthenticator, localAuthenticator } from '../../appliance/api/auth.ts';
import { HOUR, SECOND } from '../../appliance/domain/instant.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const withHeader = (authorization: string, remoteAddress = '127.0.0.1') =>
  api.app.inject({ url: '/api/v1/nodes', headers: { authorization }, remoteAddress });
const withToken = (token: string, remoteAddress?: string) => withHeader(`Bearer ${token}`, remoteAddress);
const WRONG = `ci_0123456789ab_${'A'.repeat(43)}`;

describe('a bearer token', () => {
  it('authenticates its holder under its name', async () => {
    expect((await withToken(api.tokens.viewer)).statusCode).toBe(200);
    expect(api.log.lines.at(-1)).toMatchObject({ actor: 'token:test-viewer' });
  });

  it.each([
    ['no token at all', 'Bearer'],
    ['another scheme', 'Basic YWRtaW46YWRtaW4='],
    ['something that is no token', 'Bearer hunter2'],
    ['an unknown token', `Bearer ${WRONG}`],
  ])('is refused when it is %s', async (_what, header) => {
    const answer = await withHeader(header);
    expect(answer.statusCode).toBe(401);
    expect(answer.body).not.toContain(header.split(' ')[1] ?? 'nothing');
  });

  it('is refused when its id is known and its secret is wrong', async () => {
    const forged = `${api.tokens.admin.slice(0, -1)}${api.tokens.admin.endsWith('A') ? 'B' : 'A'}`;
    expect((await withToken(forged)).json()).toMatchObject({
      code: 'unauthenticated',
      message: 'this token is not known',
    });
  });

  it('stops working when it expires, and reports that only to its holder', async () => {
    const request = {
      name: 'short',
      role: 'viewer',
      expiresAt: api.clock.time + HOUR,
      actor: 'x',
      correlationId: null,
    } as const;
    const { text } = await createApiToken(api.store, request, api.clock);
    api.clock.time += HOUR - 1;
    expect((await withToken(text)).statusCode).toBe(200);
    api.clock.time += 1;
    expect((await withToken(text)).json()).toMatchObject({
      code: 'unauthenticated',
      message: expect.stringMatching(/short has expired/),
    });
  });

  it('stops working at once when it is revoked', async () => {
    const made = await api.call({
      role: 'admin',
      method: 'POST',
      url: '/api/v1/tokens',
      payload: { name: 'ci-runner', role: 'operator', expires_in_hours: 2 },
    });
    const { id, token, ...shown } = made.json();
    expect(made.statusCode).toBe(201);
    expect(shown).toEqual({
      name: 'ci-runner',
      role: 'operator',
      created_at: '2026-01-15T08:00:00.000Z',
      expires_at: '2026-01-15T10:00:00.000Z',
      revoked_at: null,
      usable: true,
    });
    expect((await withToken(token)).statusCode).toBe(200);

    const revoke = { role: 'admin', method: 'POST', url: `/api/v1/tokens/${id}/revoke` } as const;
    expect((await api.call(revoke)).json()).toMatchObject({ name: 'ci-runner', usable: false });
    expect((await withToken(token)).json()).toMatchObject({
      code: 'unauthenticated',
      message: 'the token ci-runner was revoked',
    });
    expect((await api.call(revoke)).json()).toMatchObject({ code: 'conflict' });
    expect((await api.store.auditEntries(0, 2, true)).map(({ action, target }) => [action, target])).toEqual([
      ['token.created', 'token:ci-runner'],
      ['token.revoked', 'token:ci-runner'],
    ]);
  });

  it('has a unique name among usable tokens, because the audit log identifies its holder by it', async () => {
    const make = {
      role: 'admin',
      method: 'POST',
      url: '/api/v1/tokens',
      payload: { name: 'ci', role: 'viewer' },
    } as const;
    const { id } = (await api.call(make)).json();
    expect((await api.call(make)).json()).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/named ci/),
    });
    await api.call({ role: 'admin', method: 'POST', url: `/api/v1/tokens/${id}/revoke` });
    expect((await api.call(make)).statusCode).toBe(201);
  });

  it('rejects a name that is unsafe in a log', async () => {
    const payload = { name: 'a\nb', role: 'viewer' };
    const answer = await api.call({ role: 'admin', method: 'POST', url: '/api/v1/tokens', payload });
    expect(answer.json()).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(/^name: /) });
  });
});

describe('a secret', () => {
  it('is not stored, listed or logged', async () => {
    const made = await api.call({
      role: 'admin',
      method: 'POST',
      url: '/api/v1/tokens',
      payload: { name: 'fresh', role: 'admin' },
    });
    const texts: string[] = [...Object.values(api.tokens), made.json().token];
    await withToken(WRONG);
    await withToken(`${made.json().token}x`);
    const list = (await api.call({ role: 'admin', url: '/api/v1/tokens' })).body;
    expect(list).toContain('"fresh"');
    expect(api.log.lines.length).toBeGreaterThan(3);
    const files = await Promise.all(
      (await readdir(api.stateDir, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
    );
    expect(files.some((content) => content.includes('test-admin'))).toBe(true);
    for (const text of texts) {
      const secret = text.slice('ci_0123456789ab_'.length);
      expect(secret).toHaveLength(43);
      for (const place of [list, api.log.text, ...files]) expect(place.includes(secret)).toBe(false);
    }
  });

  it('is redacted when the headers of a request are logged', async () => {
    const authenticate = bearerAuthenticator(api.store, api.clock);
    const loud = await openApi({
      deps: () => ({
        authenticate: async (request) => {
          request.log.info({ req: request.raw, headers: request.headers }, 'careless');
          return authenticate(request);
        },
      }),
    });
    try {
      await loud.app.inject({ url: '/api/v1/nodes', headers: { authorization: `Bearer ${api.tokens.admin}` } });
      expect(loud.log.lines.find(({ msg }) => msg === 'careless')).toBeDefined();
      expect(loud.log.text).not.toContain(api.tokens.admin);
    } finally {
      await loud.close();
    }
  });
});

describe('failed authentications', () => {
  it('are limited per source, with the time to wait', async () => {
    for (let n = 0; n < 10; n += 1) expect((await withToken(WRONG)).statusCode).toBe(401);
    const refused = await withToken(WRONG);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.json()).toMatchObject({ code: 'rate_limited', message: expect.stringMatching(/127\.0\.0\.1.*5 s/) });
  });

  it('are allowed again after the stated time, and from another source at once', async () => {
    for (let n = 0; n < 10; n += 1) await withToken(WRONG);
    expect((await withToken(WRONG)).statusCode).toBe(429);
    expect((await withToken(WRONG, '10.0.0.9')).statusCode).toBe(401);
    api.clock.time += 5 * SECOND;
    expect((await withToken(WRONG)).statusCode).toBe(401);
  });

  it('do not include requests without a token or with a valid one', async () => {
    for (let n = 0; n < 30; n += 1) expect((await api.call({ url: '/api/v1/nodes' })).statusCode).toBe(401);
    for (let n = 0; n < 30; n += 1) expect((await withToken(api.tokens.viewer)).statusCode).toBe(200);
  });

  it('do not block public routes', async () => {
    for (let n = 0; n < 20; n += 1) await withToken(WRONG);
    expect((await api.app.inject({ url: '/health', headers: { authorization: `Bearer ${WRONG}` } })).statusCode).toBe(
      200,
    );
  });
});

describe('on the unix socket', () => {
  it('a caller needs no token: it is admin, under the name of the local user', async () => {
    const local = await openApi({ deps: () => ({ authenticate: localAuthenticator('root') }) });
    try {
      const payload = { name: 'from-socket', role: 'viewer' };
      expect((await local.app.inject({ method: 'POST', url: '/api/v1/tokens', payload })).statusCode).toBe(201);
      expect((await local.store.auditEntries(0, 1, true))[0]).toMatchObject({ actor: 'local:root' });
    } finally {
      await local.close();
    }
  });
});
