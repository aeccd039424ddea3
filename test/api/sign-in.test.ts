// Sessions of the web page: how they begin and end, and what a cookie alone may not do.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiToken } from '../../appliance/api/api-token.ts';
import { HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const PAGE = { host: 'appliance.example', origin: 'https://appliance.example', 'x-coldiron-page': '1' };

const signIn = (proof: object, headers: Record<string, string> = {}) =>
  api.app.inject({ method: 'POST', url: '/api/v1/session', payload: proof, headers: { ...PAGE, ...headers } });

async function cookieFor(proof: object): Promise<string> {
  const answer = await signIn(proof);
  expect(answer.statusCode, answer.body).toBe(201);
  return String(answer.headers['set-cookie']).split(';')[0] ?? '';
}

const withCookie = (
  cookie: string,
  changes: {
    method?: 'GET' | 'POST' | 'DELETE';
    url?: string;
    payload?: object;
    headers?: Record<string, string | undefined>;
  } = {},
) => {
  const { headers, ...rest } = changes;
  const all: Record<string, string | undefined> = { ...PAGE, cookie, ...headers };
  const sent = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return api.app.inject({ method: 'GET', url: '/api/v1/session', ...rest, headers: sent });
};

const codeFor = async (role: Role): Promise<string> =>
  (await api.call({ role, method: 'POST', url: '/api/v1/session/codes', payload: {} })).json().code;

describe('signing in with a token', () => {
  it('sets a cookie that only this host gets, and no script reads', async () => {
    const answer = await signIn({ token: api.tokens.operator });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['set-cookie']).toMatch(
      /^__Host-coldiron=[0-9a-f]{12}\.[\w-]{43}; Max-Age=43200; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.json()).toMatchObject({ actor: 'token:test-operator', role: 'operator' });
    expect(answer.body).not.toContain(api.tokens.operator);
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    expect((await withCookie(cookie)).json()).toMatchObject({ actor: 'token:test-operator', role: 'operator' });
    const [entry] = await api.store.auditEntries(0, 1, true);
    expect(entry).toMatchObject({ action: 'session.opened', actor: 'token:test-operator' });
  });

  it('keeps its rights and not more', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    expect((await withCookie(cookie, { url: '/api/v1/nodes' })).statusCode).toBe(200);
    expect((await withCookie(cookie, { url: '/api/v1/tokens' })).statusCode).toBe(403);
  });

  it.each([
    ['an unknown token', { token: `ci_0123456789ab_${'A'.repeat(43)}` }, 401],
    ['no token', { token: 'hunter2' }, 401],
    ['an unknown code', { code: 'A'.repeat(43) }, 401],
    ['both', { token: 'x', code: 'y' }, 400],
    ['nothing', {}, 400],
  ])('is refused with %s', async (_what, proof, status) => {
    const answer = await signIn(proof);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('is refused to nodes', async () => {
    expect((await signIn({ token: api.tokens.node })).statusCode).toBe(403);
  });

  it('is slowed down after wrong attempts, but not for those who know a token', async () => {
    for (let n = 0; n < 10; n += 1) expect((await signIn({ token: 'wrong' })).statusCode).toBe(401);
    expect((await signIn({ token: 'wrong' })).statusCode).toBe(429);
    expect((await signIn({ token: api.tokens.viewer })).statusCode).toBe(201);
  });
});

describe('a one-time code', () => {
  it('opens one session with the rights of who made it', async () => {
    const code = await codeFor('tech');
    const cookie = await cookieFor({ code });
    expect((await withCookie(cookie)).json()).toMatchObject({ actor: 'token:test-tech', role: 'tech' });
    expect((await signIn({ code })).statusCode).toBe(401);
  });

  it('is in the fragment of its link, which reaches no log', async () => {
    const answer = await api.call({ role: 'admin', method: 'POST', url: '/api/v1/session/codes', payload: {} });
    const { url, code } = answer.json();
    expect(url).toBe(`https://appliance.example:8443/sign-in#code=${code}`);
    await cookieFor({ code });
    expect(api.log.text).not.toContain(code);
  });

  it('is valid for five minutes', async () => {
    const [early, late] = [await codeFor('viewer'), await codeFor('viewer')];
    api.clock.time += 5 * MINUTE - 1;
    expect((await signIn({ code: early })).statusCode).toBe(201);
    api.clock.time += 1;
    expect((await signIn({ code: late })).json().message).toMatch(/used already or is older than 5 minutes/);
  });

  it('made in a session does not outlive it', async () => {
    const first = await cookieFor({ token: api.tokens.viewer });
    api.clock.time += 20 * MINUTE;
    const made = await withCookie(first, { method: 'POST', url: '/api/v1/session/codes', payload: {} });
    const second = await cookieFor({ code: made.json().code });
    const end = async (cookie: string) => (await withCookie(cookie)).json().session.expires_at;
    expect(await end(second)).toBe(await end(first));
  });
});

describe('a session', () => {
  it('ends after 30 minutes without use, and lives on while it is used', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    for (let n = 0; n < 4; n += 1) {
      api.clock.time += 29 * MINUTE;
      expect((await withCookie(cookie)).statusCode).toBe(200);
    }
    api.clock.time += 30 * MINUTE;
    expect((await withCookie(cookie)).json()).toMatchObject({
      code: 'unauthenticated',
      message: expect.stringMatching(/not used for 30 minutes/),
    });
  });

  it('ends after 12 hours in any case', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    for (let at = 0; at + 20 * MINUTE < 12 * HOUR; at += 20 * MINUTE) {
      api.clock.time += 20 * MINUTE;
      expect((await withCookie(cookie)).statusCode).toBe(200);
    }
    api.clock.time += 20 * MINUTE;
    expect((await withCookie(cookie)).json().message).toMatch(/longest time/);
  });

  it('ends with its token, revoked or expired', async () => {
    const request = {
      name: 'short',
      role: 'admin',
      expiresAt: api.clock.time + 10 * MINUTE,
      actor: 'x',
      correlationId: null,
    } as const;
    const { token, text } = await createApiToken(api.store, request, api.clock);
    const [revoked, expired] = [await cookieFor({ token: api.tokens.viewer }), await cookieFor({ token: text })];
    const viewer = (await api.store.tokens()).find(({ name }) => name === 'test-viewer');
    await api.call({ role: 'admin', method: 'POST', url: `/api/v1/tokens/${viewer?.id}/revoke` });
    expect((await withCookie(revoked)).json().message).toMatch(/token that opened this session was revoked/);
    expect((await withCookie(expired)).statusCode).toBe(200);
    api.clock.time = token.expiresAt ?? 0;
    expect((await withCookie(expired)).statusCode).toBe(401);
  });

  it('ends by signing out, and the cookie is deleted', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    const answer = await withCookie(cookie, { method: 'DELETE' });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['set-cookie']).toMatch(/^__Host-coldiron=; Max-Age=0;/);
    expect((await withCookie(cookie)).json().message).toBe('you are signed out');
  });

  it('is not opened by a forged secret, and is stored as a hash only', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    const forged = `${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`;
    expect((await withCookie(forged)).statusCode).toBe(401);
    expect((await withCookie('__Host-coldiron=; other=1')).statusCode).toBe(401);
    const id = cookie.slice(cookie.indexOf('=') + 1, cookie.indexOf('.'));
    const found = await api.store.webSession(id as never);
    expect(JSON.stringify(found)).not.toContain(cookie.split('.')[1]);
    expect(api.log.text).not.toContain(cookie.split('.')[1]);
  });

  it('gives way to a bearer token', async () => {
    const cookie = await cookieFor({ token: api.tokens.viewer });
    const answer = await withCookie(cookie, { headers: { authorization: `Bearer ${api.tokens.admin}` } });
    expect(answer.json()).toMatchObject({ actor: 'token:test-admin', session: null });
  });
});

describe('another page', () => {
  const deploy = { method: 'POST', url: '/api/v1/nodes/node01/commission', payload: {} } as const;

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', { origin: undefined }],
    ['an opaque origin', { origin: 'null' }],
    ['another port of the host', { origin: 'https://appliance.example:8080' }],
    ['a request that the browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['a request of a sibling host', { 'sec-fetch-site': 'same-site' }],
    ['no header of the page', { 'x-coldiron-page': undefined }],
  ])('cannot write with the cookie: %s', async (_what, headers) => {
    const cookie = await cookieFor({ token: api.tokens.admin });
    const answer = await withCookie(cookie, { ...deploy, headers });
    expect(answer.statusCode).toBe(401);
    expect((await api.call({ role: 'viewer', url: '/api/v1/nodes/node01' })).json().state).toBe('registered');
  });

  it('cannot read with the cookie, or open a stream or a console', async () => {
    const cookie = await cookieFor({ token: api.tokens.admin });
    expect((await withCookie(cookie, { headers: { 'sec-fetch-site': 'cross-site' } })).statusCode).toBe(401);
    const upgrade = { upgrade: 'websocket', connection: 'Upgrade', origin: 'https://evil.example' };
    expect((await withCookie(cookie, { url: '/api/v1/nodes/node01/console', headers: upgrade })).statusCode).toBe(401);
  });

  it('cannot sign somebody in under its own name', async () => {
    expect((await signIn({ token: api.tokens.viewer }, { origin: 'https://evil.example' })).statusCode).toBe(403);
  });

  it('is told apart from ours, which may write', async () => {
    const cookie = await cookieFor({ token: api.tokens.admin });
    const answer = await withCookie(cookie, { ...deploy, headers: { 'sec-fetch-site': 'same-origin' } });
    expect(answer.statusCode, answer.body).toBe(200);
    api.clock.time += SECOND;
  });
});
