// Attacks on the event stream: a caller who opens too many, one who never reads, and a machine whose text wants to be more than text.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LiveFeed } from '../../appliance/api/live/live-feed.ts';
import { systemClock } from '../../appliance/machines/runner/clock.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';

let api: Fixture;
let sockets: Socket[] = [];
beforeEach(async () => {
  api = await openApi({
    deps: ({ store, fleet, logger }) => ({
      live: new LiveFeed({
        ...{ store, fleet, now: () => api.clock.now(), setTimer: systemClock.setTimer, log: logger },
        breathe: () => setImmediate(),
        limits: { listeners: 12, perCaller: 8 },
      }),
    }),
  });
  await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await api.close();
});

/** Sends the request, and reads only the first bytes of the answer. */
async function open(token: string, query = ''): Promise<{ socket: Socket; status: number; begin: string }> {
  const address = api.app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the API does not listen');
  const socket = connect(address.port, '127.0.0.1');
  sockets.push(socket.on('error', () => undefined));
  socket.write(`GET /api/v1/events/stream${query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  const begin = bytes.toString();
  return { socket: socket.pause(), status: Number(begin.split(' ')[1]), begin };
}

const soon = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 20_000, interval: 20 });

describe('a caller who opens streams without end', () => {
  it('is refused above a limit, keeps nobody else out, and frees the place of each stream that it closes', async () => {
    const greedy = [];
    for (let n = 0; n < 8; n += 1) greedy.push(await open(api.tokens.viewer));
    expect(greedy.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await open(api.tokens.viewer)).status).toBe(429);
    expect((await open(api.tokens.operator)).status).toBe(200);
    greedy[0]?.socket.destroy();
    await soon(async () => (await open(api.tokens.viewer)).status).toBe(200);
  });
});

describe('a reader who never reads', () => {
  it('costs little memory however much happens, and is disconnected', async () => {
    const { socket } = await open(api.tokens.viewer, '?snapshot=none');
    const response = (): number =>
      [...connections()].reduce((most, { writableLength }) => Math.max(most, writableLength), 0);
    const data = { intent: 'x'.repeat(4000) };
    let highest = 0;
    for (let round = 0; round < 40; round += 1) {
      const events = Array.from({ length: 200 }, () => ({
        ...{ at: api.clock.now(), kind: 'intent.consumed' as const, actor: 'appliance', machine: null },
        ...{ correlationId: null, data },
      }));
      await api.store.appendEvents(events);
      highest = Math.max(highest, response());
    }
    // 32 MB were written to the log. The kernel takes a few MB; of the rest, about one frame waits.
    await soon(() => response()).toBeGreaterThan(0);
    expect(Math.max(highest, response())).toBeLessThan(1024 * 1024);
    api.clock.time += 31_000;
    await soon(() => socket.destroyed || [...connections()].length === 0).toBe(true);
  });

  const connections = function* (): Generator<Socket> {
    for (const socket of served) if (!socket.destroyed) yield socket;
  };
  const served = new Set<Socket>();
  beforeEach(() => {
    served.clear();
    api.app.server.on('connection', (socket) => served.add(socket));
  });
});

describe('a machine whose text holds control characters, line breaks and bidi marks', () => {
  it('cannot add a message to the stream, or reach a screen with them', async () => {
    const hostile = 'x\n\nevent: gone\ndata: ["node01"]\n\n\u001b[2J\u202e';
    await api.store.appendEvents([
      {
        ...{
          at: api.clock.now(),
          kind: 'session.refused',
          actor: 'machine:node01',
          machine: null,
          correlationId: null,
        },
        data: { mode: 'inspect', reason: hostile, address: null },
      },
    ]);
    const { events } = (await api.call({ role: 'viewer', url: '/api/v1/events?newest=true&limit=1' })).json();
    expect(events[0].sentence).toMatch(/\\u000a\\u000aevent: gone.*\\u001b\[2J\\u202e/);
    const { socket, begin } = await open(api.tokens.viewer, `?snapshot=none&after=${events[0].seq - 1}`);
    let text = begin;
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString();
    });
    socket.resume();
    await soon(() => text).toContain('session.refused');
    expect(text).not.toMatch(/^event: gone/m);
    expect(text).toContain('\\\\u202e","correlation_id"');
    // Also where the data is shown as it is, as by curl on a terminal.
    expect(text).not.toContain('\u202e');
  });
});
