// Attacks on the limit of failed attempts: a guesser tries to lock out callers who share its address.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bootRoute } from '../../appliance/servers/http-boot/boot-route.ts';
import { exchangeOf } from '../../appliance/servers/http-boot/exchange.ts';
import { SessionExchanges } from '../../appliance/servers/http-boot/session-exchanges.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { SessionsRig } from '../provisioning/sessions/sessions-rig.ts';
import { mac } from '../store/samples.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';

describe('a guesser behind the same address', () => {
  let api: Fixture;
  beforeEach(async () => {
    api = await openApi();
  });
  afterEach(() => api.close());

  const nodes = (token: string) =>
    api.app.inject({ url: '/api/v1/nodes', headers: { authorization: `Bearer ${token}` } });
  const guess = (n: number): string => `ci_${n.toString(16).padStart(12, '0')}_${'A'.repeat(43)}`;

  it('cannot lock out the holder of a valid token with unknown tokens', async () => {
    for (let n = 0; n < 40; n += 1) {
      const guessed = await nodes(guess(n));
      expect(guessed.statusCode).toBe(n < 10 ? 401 : 429);
      expect((await nodes(api.tokens.admin)).statusCode, `after ${n + 1} guesses`).toBe(200);
    }
  });

  it('cannot lock out the holder with the id of their own token and a wrong secret', async () => {
    for (let n = 0; n < 20; n += 1) await nodes(`${api.tokens.viewer.slice(0, 16)}${'A'.repeat(43)}`);
    expect((await nodes(api.tokens.viewer)).statusCode).toBe(200);
  });

  it('cannot lock out the holder with headers that are no tokens, or with revoked tokens', async () => {
    const made = await api.call({
      role: 'admin',
      method: 'POST',
      url: '/api/v1/tokens',
      payload: { name: 'old', role: 'viewer' },
    });
    const { id, token } = made.json();
    await api.call({ role: 'admin', method: 'POST', url: `/api/v1/tokens/${id}/revoke` });
    for (let n = 0; n < 10; n += 1) {
      await nodes(token);
      await nodes('hunter2');
    }
    expect((await nodes('hunter2')).statusCode).toBe(429);
    expect((await nodes(token)).statusCode).toBe(429);
    expect((await nodes(api.tokens.operator)).statusCode).toBe(200);
  });

  it('is not let off by requests with valid tokens in between', async () => {
    for (let n = 0; n < 10; n += 1) {
      await nodes(guess(n));
      await nodes(api.tokens.viewer);
    }
    const refused = await nodes(guess(99));
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('5');
  });
});

describe('a machine that floods the session API from a shared address', () => {
  const file = useScratchFolder();

  async function openServer() {
    const rig = await SessionsRig.open(file('coldiron.db'), 'commissioning');
    const exchanges = new SessionExchanges(rig.sessions, () => 0);
    const server = createServer(async (request, response) => {
      const exchange = exchangeOf(request, response, 'call');
      const route = bootRoute(exchange.path);
      if (route.kind === 'session') await exchanges.answer(exchange, route.session);
      else response.writeHead(404).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await rig.store.close();
    });
    const { port } = server.address() as AddressInfo;
    const call = async (path: string, key: string | null, body?: object): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}/boot/session/${path}`, {
        method: body ? 'POST' : 'GET',
        ...(key !== null && { headers: { authorization: `Bearer ${key}` } }),
        ...(body && { body: JSON.stringify(body) }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    return { rig, call };
  }

  /** More wrong keys than the limit of one second, which does not pass during the test. */
  async function flood(call: (path: string, key: string) => Promise<number>): Promise<void> {
    const statuses = await Promise.all(Array.from({ length: 120 }, () => call('order', 'W'.repeat(43))));
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  }

  it('cannot stop the session of another machine with wrong keys', async () => {
    const { rig, call } = await openServer();
    const key = await rig.session('commission');
    await flood(call);
    expect(await call('order', key)).toBe(200);
  });

  it('cannot keep another machine from opening its session', async () => {
    const { rig, call } = await openServer();
    const ticket = await rig.ticket('commission');
    await flood(call);
    expect(await call(ticket, null, { mac: mac(1) })).toBe(201);
  });

  it('is still limited when it holds a valid key itself', async () => {
    const { rig, call } = await openServer();
    const key = await rig.session('commission');
    const statuses = await Promise.all(Array.from({ length: 250 }, () => call('order', key)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(50);
  });
});
