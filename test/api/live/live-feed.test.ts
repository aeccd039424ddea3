import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../appliance/api/live/live-feed.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import type { Change, Write } from '../../../appliance/store/change.ts';
import { aMachine, machineId } from '../../machines/machines.ts';
import { EVERYTHING, hostname, LiveWorld, site, TestReader } from './live-world.ts';

const TICK = 250;
const states = (reader: TestReader) => [...reader.rows.values()].map((row) => `${row.hostname} ${row.state}`).sort();

describe('a new listener', () => {
  it('gets all rows in messages of at most 500, then ready with the number of the last event', async () => {
    const world = new LiveWorld(0);
    for (let n = 1; n <= 1201; n += 1) world.put(n, 'registered', { interfaces: [] });
    world.append('intent.consumed');
    const reader = await world.open();
    expect(reader.named('nodes').map((rows) => (rows as unknown[]).length)).toEqual([500, 500, 201]);
    expect(reader.messages.at(-1)).toEqual({ event: 'ready', data: { cursor: 1, time: '2030-01-01T00:00:00.000Z' } });
    expect(reader.rows.size).toBe(1201);
  });

  it('with snapshot none gets no rows, now or later', async () => {
    const world = new LiveWorld(2);
    const reader = await world.open({ rows: false });
    world.put(1, 'ready');
    world.append('intent.consumed');
    await world.pass(TICK);
    expect(reader.messages.map(({ event }) => event)).toEqual(['ready', 'event']);
  });
});

describe('changes', () => {
  it('of one row within a tick are one message with the last state', async () => {
    const world = new LiveWorld(3);
    const reader = await world.open();
    const before = reader.messages.length;
    for (const state of ['commissioning', 'ready', 'deploying'] as const) world.put(2, state);
    await world.pass(TICK);
    expect(reader.messages.slice(before)).toMatchObject([
      { event: 'nodes', data: [{ hostname: 'node02', state: 'deploying' }] },
    ]);
  });

  it('come at most four times per second, however many commits there are', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open();
    const before = reader.named('nodes').length;
    for (let n = 0; n < 100; n += 1) {
      world.put(1, n % 2 === 0 ? 'ready' : 'registered');
      await world.pass(20);
    }
    const messages = reader.named('nodes').length - before;
    expect(messages).toBeGreaterThan(5);
    expect(messages).toBeLessThanOrEqual(9);
  });

  it('that leave a row as it was are not sent', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open();
    const before = reader.messages.length;
    world.fleet.update([...world.fleet.machines()], { revision: 9, declaredRevision: 0 });
    await world.pass(TICK);
    expect(reader.messages).toHaveLength(before);
  });

  it('name removed and renamed nodes, and nodes that left the site of the filter', async () => {
    const world = new LiveWorld(3);
    const [all, lab] = [await world.open(), await world.open({ site: 'lab' })];
    world.put(1, 'removed');
    world.put(2, 'registered', { hostname: hostname('other') });
    world.put(3, 'registered', { site: site('dc2') });
    await world.pass(TICK);
    expect(all.named('gone')).toEqual([['node01', 'node02']]);
    expect(states(all)).toEqual(['node03 registered', 'other registered']);
    expect(lab.named('gone')).toEqual([['node01', 'node02', 'node03']]);
    expect(states(lab)).toEqual(['other registered']);
  });

  it('show the progress of a session, as one plain line', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open();
    const change = (write: Write): Change => ({
      ...{ command: null, at: world.now, machine: machineId(1), version: null, lifecycle: null },
      ...{ effects: [], writes: [write], events: [], audit: [] },
    });
    const step = {
      step: 'write\u001b[2J',
      status: 'progress',
      percent: 64,
      message: '41 MB/s\u202e',
      at: world.now,
    } as const;
    world.put(1, 'deploying');
    world.publish({ change: change({ kind: 'report-step', report: { id: 's' as never, sequence: 1, step } }) });
    await world.pass(TICK);
    expect(reader.rows.get('node01')).toMatchObject({
      progress: { step: 'write\\u001b[2J', percent: 64, detail: '41 MB/s\\u202e' },
    });
    const end = { how: 'succeeded', at: world.now, reason: null } as const;
    world.publish({ change: change({ kind: 'end-session', session: 's' as never, end }) });
    await world.pass(TICK);
    expect(reader.rows.get('node01')).toMatchObject({ progress: null });
  });

  it('show whether the cables are as declared, by what sessions report', async () => {
    const nic = {
      name: 'eth0',
      mac: '52:54:00:12:34:56',
      link: true,
      neighbour: { system: 'sw3', port: 'Ethernet1/9' },
    };
    const world = new LiveWorld(1, async () => [{ at: 1, facts: { nics: [nic], disks: [] } }]);
    const [card] = aMachine({ number: 1 }).spec.interfaces;
    if (!card) throw new Error('the machine has no card');
    world.put(1, 'registered', { interfaces: [{ ...card, switch: { name: 'sw3', port: 'Ethernet1/1' } }] });
    const reader = await world.open();
    await world.pass(SECOND);
    expect(reader.rows.get('node01')?.cabling).toEqual({
      verdict: 'another-port',
      summary: 'eth0: at sw3 Ethernet1/9',
    });
  });
});

describe('events', () => {
  it('are filtered by node, kind with its subkinds, severity and site', async () => {
    const world = new LiveWorld(2);
    const node = await world.open({ machine: machineId(1) });
    const kind = await world.open({ kind: 'intent' });
    const severe = await world.open({ severity: 'warning' });
    const lab = await world.open({ site: 'lab' });
    world.append('intent.consumed', machineId(1));
    world.append('intents.other', machineId(2));
    world.append('session.refused');
    await world.pass(TICK);
    expect([node.events, kind.events, severe.events, lab.events]).toEqual([[1], [1], [3], [1, 2]]);
  });

  it('are read once from the log for all listeners, and turned into text once', async () => {
    const world = new LiveWorld(1);
    const readers = [];
    for (let n = 0; n < 40; n += 1) readers.push(await world.open());
    const before = world.reads;
    world.append('intent.consumed');
    await world.pass(TICK);
    expect(world.reads - before).toBeLessThanOrEqual(3);
    expect(readers.every(({ events }) => events.join() === '1')).toBe(true);
  });

  it('are repeated from the log after the id of the last one, without gap or repetition', async () => {
    const world = new LiveWorld(1);
    for (let n = 0; n < 1300; n += 1) world.append('intent.consumed');
    const first = await world.open({ rows: false }, 1000);
    expect(first.events).toEqual(Array.from({ length: 300 }, (_, n) => 1001 + n));
    const { lastId } = first;
    first.leave();
    world.append('intent.consumed');
    await world.pass(TICK);
    const second = await world.open({ rows: false }, lastId);
    world.append('intent.consumed');
    await world.pass(TICK);
    expect(second.events).toEqual([1301, 1302]);
  });

  it('that are not kept any more, or of another log, are announced as missing', async () => {
    const world = new LiveWorld(1);
    for (let n = 0; n < 10; n += 1) world.append('intent.consumed');
    world.trim(5);
    const trimmed = await world.open({ rows: false }, 3);
    const other = await world.open({ rows: false }, 999);
    const complete = await world.open({ rows: false }, 5);
    world.append('intent.consumed');
    await world.pass(TICK);
    expect(trimmed.named('reset')).toMatchObject([
      { reason: expect.stringContaining('up to 5 were deleted'), cursor: 10 },
    ]);
    expect(other.named('reset')).toMatchObject([{ reason: expect.stringContaining('ends with event 10'), cursor: 10 }]);
    expect([trimmed.events, other.events, complete.events]).toEqual([[11], [11], [6, 7, 8, 9, 10, 11]]);
  });

  it('are sent after a failure of the store, and none is lost', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open();
    world.isBroken = true;
    world.append('intent.consumed');
    await world.pass(SECOND);
    expect(world.errors.length).toBeGreaterThan(0);
    world.isBroken = false;
    await world.pass(SECOND);
    expect([reader.events, reader.isCut]).toEqual([[1], false]);
  });
});

describe('a heartbeat', () => {
  it('follows 15 seconds without a message, and moves the id of a filtered stream on', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open({ kind: 'bmc' });
    for (let n = 0; n < 7; n += 1) world.append('intent.consumed');
    const before = reader.text.length;
    await world.pass(14 * SECOND);
    expect(reader.text).toHaveLength(before);
    await world.pass(2 * SECOND);
    expect(reader.text.slice(before)).toBe(':\nid: 7\n\n');
    expect(reader.lastId).toBe(7);
  });
});

describe('a reader that stops reading', () => {
  it('has one frame waiting, whatever happens, and gets everything when it reads again', async () => {
    const world = new LiveWorld(50);
    const reader = await world.open();
    reader.stopReading();
    for (let n = 1; n <= 5000; n += 1) {
      world.append('intent.consumed');
      world.put((n % 50) + 1, n > 4950 ? 'ready' : 'deploying');
      if (n % 500 === 0) await world.pass(TICK);
    }
    expect(reader.waiting.length).toBe(1);
    reader.readAgain();
    await world.pass(TICK);
    expect(reader.events).toEqual(Array.from({ length: 5000 }, (_, n) => n + 1));
    expect(states(reader).every((row) => row.endsWith(' ready'))).toBe(true);
  });

  it('is disconnected after 30 seconds', async () => {
    const world = new LiveWorld(1);
    const [slow, quick] = [await world.open(), await world.open()];
    slow.stopReading();
    world.append('intent.consumed');
    await world.pass(29 * SECOND);
    expect(slow.isCut).toBe(false);
    await world.pass(2 * SECOND);
    expect([slow.isCut, quick.isCut, world.feed.listeners]).toEqual([true, false, 1]);
  });
});

describe('access', () => {
  it('is asked for again, and a stream whose token was revoked ends within 10 seconds', async () => {
    const world = new LiveWorld(1);
    const [revoked, other] = [await world.open(), await world.open()];
    revoked.isAllowed = false;
    await world.pass(11 * SECOND);
    expect(revoked.messages.at(-1)).toMatchObject({ event: 'end' });
    expect([revoked.isEnded, other.isEnded]).toEqual([true, false]);
  });

  it('is refused to a caller with too many streams, and to everyone when there are too many', async () => {
    const world = new LiveWorld(0);
    for (let n = 0; n < LIMITS.perCaller; n += 1) await open(world, 'token:greedy');
    await expect(open(world, 'token:greedy')).rejects.toMatchObject({ code: 'too_many_streams' });
    const others = [];
    for (let n = LIMITS.perCaller; n < LIMITS.listeners; n += 1) others.push(await open(world, 'token:other'));
    await expect(open(world, 'token:third')).rejects.toMatchObject({ code: 'too_many_streams' });
    others[0]?.leave();
    await expect(open(world, 'token:third')).resolves.toBeDefined();
  });

  async function open(world: LiveWorld, actor: string) {
    await world.feed.ready();
    world.feed.admit(actor);
    const reader = new TestReader(world.feed, EVERYTHING, actor);
    reader.begin(null);
    return reader;
  }
});

describe('the feed', () => {
  it('does nothing while nobody listens, and starts again', async () => {
    const world = new LiveWorld(2);
    expect([world.reads, world.timers]).toEqual([0, 0]);
    const reader = await world.open();
    reader.leave();
    await world.pass(61 * SECOND);
    const before = world.reads;
    await world.pass(600 * SECOND);
    expect([world.reads, world.timers]).toEqual([before, 0]);
    world.put(2, 'ready');
    expect(states(await world.open())).toEqual(['node01 registered', 'node02 ready']);
  });

  it('ends all streams and waits when it is stopped', async () => {
    const world = new LiveWorld(1);
    const reader = await world.open();
    const gone = new AbortController();
    const waiting = world.feed.next(0, EVERYTHING, 60 * SECOND, gone.signal);
    await world.feed.stop();
    await waiting;
    expect(reader.messages.at(-1)).toEqual({ event: 'end', data: { reason: 'the appliance stops' } });
    expect([reader.isEnded, world.timers]).toEqual([true, 0]);
  });
});
