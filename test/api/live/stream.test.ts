import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { needPackages } from '../../interop/packages.ts';
import { type Fixture, openApi } from '../api-fixture.ts';
import { CurlStream } from './curl-stream.ts';

needPackages(['curl']);

let api: Fixture;
let origin: string;
let open: CurlStream[] = [];
beforeEach(async () => {
  api = await openApi();
  origin = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await Promise.all(open.map((stream) => stream.kill()));
  open = [];
  await api.close();
});

const stream = (query = '', args: readonly string[] = [], token: string | null = api.tokens.viewer): CurlStream => {
  const opened = new CurlStream(`${origin}/api/v1/events/stream${query}`, token, args);
  open.push(opened);
  return opened;
};
const soon = <T>(read: () => T) => expect.poll(read, { timeout: 20_000, interval: 20 });
const act = (node: string, verb: string) =>
  api.call({ role: 'operator', method: 'POST', url: `/api/v1/nodes/${node}/${verb}` });
const sequences = (reader: CurlStream) => reader.named('event').map((event) => (event as { seq: number }).seq);

describe('GET /api/v1/events/stream', () => {
  it.each([
    ['plain', []],
    ['compressed', ['--compressed']],
  ])('sends a snapshot, ready and changes: %s', async (how, args) => {
    const reader = stream('', [...args, '-i']);
    await soon(() => reader.named('ready')).toHaveLength(1);
    expect(reader.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(reader.text).toContain('content-type: text/event-stream; charset=utf-8\r\n');
    expect(reader.text.includes('content-encoding: gzip')).toBe(how === 'compressed');
    const names = (reader.named('nodes') as { hostname: string }[][]).flat().map(({ hostname }) => hostname);
    expect(names.sort()).toEqual(['node01', 'node02', 'node03']);
    await act('node02', 'retire');
    await soon(() => reader.named('event')).toHaveLength(1);
    expect(reader.named('nodes').at(-1)).toMatchObject([{ hostname: 'node02', state: 'retired', version: 2 }]);
    expect(reader.named('event')).toMatchObject([
      { kind: 'lifecycle.retired', hostname: 'node02', severity: 'info', sentence: expect.stringMatching(/retired/) },
    ]);
  });

  it('is resumed by Last-Event-ID, and loses and repeats nothing', async () => {
    const first = stream('?snapshot=none');
    await soon(() => first.named('ready')).toHaveLength(1);
    const begin = Number(first.lastId);
    await act('node01', 'retire');
    await soon(() => sequences(first)).toHaveLength(1);
    await first.kill();
    await act('node01', 'reactivate');
    await act('node02', 'retire');
    const second = stream('?snapshot=none', ['-H', `Last-Event-ID: ${first.lastId}`]);
    await soon(() => sequences(second)).toHaveLength(2);
    await act('node03', 'retire');
    await soon(() => sequences(second)).toHaveLength(3);
    expect([...sequences(first), ...sequences(second)]).toEqual([1, 2, 3, 4].map((n) => begin + n));
  });

  it('takes a node, a site, a kind and a severity, and names what it does not know', async () => {
    const node = stream('?node=node01&kind=lifecycle');
    const rows = stream('?events=none&site=lab');
    await soon(() => [node.named('ready').length, rows.named('ready').length]).toEqual([1, 1]);
    await act('node02', 'retire');
    await act('node01', 'retire');
    await soon(() => node.named('event')).toMatchObject([{ hostname: 'node01' }]);
    expect(
      (node.named('nodes') as { hostname: string }[][]).flat().every(({ hostname }) => hostname === 'node01'),
    ).toBe(true);
    await soon(() => rows.named('nodes').length).toBeGreaterThan(1);
    expect(rows.named('event')).toEqual([]);
    const wrong = [
      '?node=node99',
      '?site=nowhere',
      '?severity=bad',
      '?snapshot=none&events=none',
      '?after=x',
      '?colour=1',
    ];
    const answers = await Promise.all(
      wrong.map(async (query) => (await api.call({ role: 'viewer', url: `/api/v1/events/stream${query}` })).json()),
    );
    expect(answers.map(({ code }) => code)).toEqual([
      ...['not_found', 'not_found'],
      ...['invalid_request', 'invalid_request', 'invalid_request', 'invalid_request'],
    ]);
    const bad = await api.call({ role: 'viewer', url: '/api/v1/events/stream', headers: { 'last-event-id': '-1' } });
    expect(bad.json()).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('Last-Event-ID') });
  });

  it('ends when its token is revoked, within a bounded time', async () => {
    const created = await api.call({
      ...{ role: 'admin', method: 'POST', url: '/api/v1/tokens' },
      payload: { name: 'wall-screen', role: 'viewer' },
    });
    const { id, token } = created.json();
    const reader = stream('', [], token);
    await soon(() => reader.named('ready')).toHaveLength(1);
    await api.call({ role: 'admin', method: 'POST', url: `/api/v1/tokens/${id}/revoke` });
    api.clock.time += 11_000;
    await soon(() => reader.named('end')).toEqual([{ reason: 'you may not read this any more' }]);
    expect(await reader.ended).toBe(0);
  });

  it('ends when the API stops', async () => {
    const reader = stream();
    await soon(() => reader.named('ready')).toHaveLength(1);
    await api.live.stop();
    await api.app.close();
    expect(await reader.ended).toBe(0);
    expect(reader.named('end')).toHaveLength(1);
  });

  it('answers HEAD with its headers alone, and leaves no listener', async () => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    await once(socket, 'connect');
    const lines = ['HEAD /api/v1/events/stream HTTP/1.1', 'Host: a', 'Connection: close'];
    socket.write(`${[...lines, `Authorization: Bearer ${api.tokens.viewer}`].join('\r\n')}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK/);
    await soon(() => api.live.listeners).toBe(0);
  });

  it('forgets a reader that left', async () => {
    const reader = stream();
    await soon(() => reader.named('ready')).toHaveLength(1);
    expect(api.live.listeners).toBe(1);
    await reader.kill();
    await soon(() => api.live.listeners).toBe(0);
  });
});

describe('GET /api/v1/fleet', () => {
  it('lists all rows by host name, and the event from which a stream goes on', async () => {
    const answer = await api.call({ role: 'viewer', url: '/api/v1/fleet' });
    const { rows, cursor } = answer.json();
    expect(rows.map(({ hostname }: { hostname: string }) => hostname)).toEqual(['node01', 'node02', 'node03']);
    // The card on the network that machines boot from, not the first one.
    expect(rows[1]).toMatchObject({ mac: '52:54:00:12:34:52', address: '10.0.100.52', rack: 'r1', unit: null });
    const { events } = (await api.call({ role: 'viewer', url: '/api/v1/events?newest=true&limit=1' })).json();
    expect(cursor).toBe(events[0].seq);
  });
});

describe('GET /api/v1/events with wait', () => {
  const newest = async (): Promise<number> =>
    (await api.call({ role: 'viewer', url: '/api/v1/events?newest=true&limit=1' })).json().events[0].seq;

  it('answers with the first event that matches, as soon as it happens', async () => {
    const after = await newest();
    const answer = api.call({ role: 'viewer', url: `/api/v1/events?after=${after}&node=node01&wait=60` });
    await act('node02', 'retire');
    await act('node01', 'retire');
    const { events } = (await answer).json();
    expect(events).toMatchObject([{ hostname: 'node01', kind: 'lifecycle.retired' }]);
  });

  it('answers at once when there are events, and with none when the time is over', async () => {
    const after = await newest();
    expect(
      (await api.call({ role: 'viewer', url: `/api/v1/events?after=${after - 1}&wait=60` })).json().events,
    ).toHaveLength(1);
    expect((await api.call({ role: 'viewer', url: `/api/v1/events?after=${after}&wait=1` })).json()).toEqual({
      events: [],
      next: null,
    });
  });
});
