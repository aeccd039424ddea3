import { describe, expect, it } from 'vitest';
import type { NewAuditEntry, NewEvent } from '../../appliance/domain/event.ts';
import type { BootEventKind } from '../../appliance/domain/events/event-table.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { parseMachineId } from '../../appliance/domain/machine.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { trailNote } from '../../appliance/trail/trail.ts';
import { TrailRecorder } from '../../appliance/trail/trail-recorder.ts';

const machine = mustParse(parseMachineId('00000000-0000-4000-8000-000000000001'));
const mac = mustParse(parseMac('52:54:00:12:34:56'));
const other = mustParse(parseMac('52:54:00:12:34:57'));

function recorder() {
  const written: NewEvent[] = [];
  const audited: NewAuditEntry[] = [];
  const clock = { now: 1_000_000 };
  const store = { fails: false };
  const trail = new TrailRecorder(
    {
      appendEvents: async (events) => {
        if (store.fails) throw new Error('the disk is full');
        written.push(...events);
      },
      appendAudit: async (entries) => {
        if (store.fails) throw new Error('the disk is full');
        audited.push(...entries);
      },
    },
    () => clock.now,
  );
  const note = (kind: BootEventKind, from = mac, begins = false) =>
    trail.note(trailNote({ mac: from, machine, beginsAttempt: begins }, kind, sampleData(kind)));
  return { trail, note, written, audited, clock, store };
}

describe('TrailRecorder', () => {
  it('assigns one attempt id per boot and machine', async () => {
    const { trail, note, written, clock } = recorder();
    note('dhcp.discover', mac, true);
    note('dhcp.discover', other, true);
    clock.now += 5_000;
    note('tftp.completed');
    clock.now += 80_000;
    note('http.script');
    await trail.flush();
    const ids = written.map((event) => event.correlationId);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[0]).toBe(ids[3]);
    expect(ids[1]).not.toBe(ids[0]);
    expect(written[0]).toMatchObject({ kind: 'dhcp.discover', machine, data: { mac, program: 'firmware-pxe' } });
  });

  it('starts a new attempt when firmware restarts and after a long silence', async () => {
    const { trail, note, written, clock } = recorder();
    note('dhcp.discover', mac, true);
    note('dhcp.discover', mac, true);
    clock.now += 90_000;
    note('dhcp.request');
    await trail.flush();
    expect(new Set(written.map((event) => event.correlationId)).size).toBe(3);
  });

  it('keeps events that the store rejected, in order, for the next flush', async () => {
    const { trail, note, written, store } = recorder();
    note('dhcp.offer');
    store.fails = true;
    await expect(trail.flush()).rejects.toThrow('the disk is full');
    note('dhcp.ack');
    store.fails = false;
    await trail.flush();
    expect(written.map((event) => event.kind)).toEqual(['dhcp.offer', 'dhcp.ack']);
  });

  it('keeps events that arrive during a flush', async () => {
    const written: NewEvent[] = [];
    const disk = Promise.withResolvers<void>();
    const appendEvents = async (events: readonly NewEvent[]) => {
      await disk.promise;
      written.push(...events);
    };
    const trail = new TrailRecorder({ appendEvents, appendAudit: async () => undefined }, () => 1_000_000);
    const note = (kind: BootEventKind) => trail.note(trailNote({ mac, machine }, kind, sampleData(kind)));
    note('dhcp.discover');
    const flushed = trail.flush();
    note('dhcp.request');
    disk.resolve();
    await flushed;
    await trail.flush();
    expect(written.map(({ kind }) => kind)).toEqual(['dhcp.discover', 'dhcp.request']);
  });

  it('limits the backlog while the store is unavailable, and records how many events it lost', async () => {
    const { trail, note, written } = recorder();
    for (let at = 0; at < 25_000; at++) note('dhcp.discover', mustParse(parseMac((0x525400000000 + at).toString(16))));
    await trail.flush();
    expect(written.filter((event) => event.kind === 'dhcp.discover')).toHaveLength(20_000);
    expect(written.filter((event) => event.kind === 'trail.gap')).toMatchObject([{ data: { lost: 5_000 } }]);
  });

  it('limits events of unknown machines, and records how many it dropped', async () => {
    const { trail, written, note } = recorder();
    for (let at = 0; at < 10_000; at++)
      trail.note({ kind: 'dhcp.discover', mac: other, machine: null, data: sampleData('dhcp.discover') });
    note('dhcp.ack');
    await trail.flush();
    expect(written.length).toBe(52);
    expect(written.at(-2)?.kind).toBe('dhcp.ack');
    expect(written.at(-1)).toMatchObject({ kind: 'trail.gap', data: { lost: 9_950, of: 'strangers' } });
  });

  it('records the number of dropped events of unknown machines once a minute and when it closes', async () => {
    const { trail, written, clock } = recorder();
    for (let second = 0; second < 90; second++) {
      for (let at = 0; at < 60; at++)
        trail.note({ kind: 'dhcp.discover', mac: other, machine: null, data: sampleData('dhcp.discover') });
      await trail.flush();
      clock.now += 1000;
    }
    await trail.close();
    const gaps = written
      .filter((event) => event.kind === 'trail.gap')
      .map(({ data }) => (data as { lost: number }).lost);
    expect(gaps).toEqual([10, 600, 290]);
  });

  it('stores the first events of a flood about one machine, and records the number of the others and the last one', async () => {
    const { trail, note, written, clock } = recorder();
    const script = sampleData('http.script');
    note('dhcp.discover', mac, true);
    for (let at = 0; at < 5000; at++)
      trail.note({ kind: 'http.script', mac, machine, data: { ...script, words: `${at}` } });
    note('http.script', other);
    note('dhcp.ack');
    await trail.flush();
    expect(written.filter((event) => event.kind === 'http.script')).toHaveLength(121);
    expect(written.at(-1)).toMatchObject({ kind: 'dhcp.ack' });

    clock.now += 60_000;
    await trail.flush();
    expect(written.at(-1)).toMatchObject({
      kind: 'trail.flood',
      actor: `mac:${mac}`,
      machine,
      correlationId: written[0]?.correlationId,
      data: { mac, of: 'http.script', count: 4880, seconds: 60, last: { words: '4999' } },
    });
  });

  it('stores one count per minute during a flood, and every event again after a quiet minute', async () => {
    const { trail, note, written, clock } = recorder();
    for (let second = 0; second < 600; second++) {
      for (let at = 0; at < 10; at++) note('http.script');
      await trail.flush();
      clock.now += 1000;
    }
    expect(written.filter((event) => event.kind === 'http.script')).toHaveLength(120);
    clock.now += 60_000;
    await trail.flush();
    const counts = written
      .filter((event) => event.kind === 'trail.flood')
      .map(({ data }) => (data as { count: number }).count);
    expect(counts).toHaveLength(10);
    expect(counts.reduce((sum, count) => sum + count, 120)).toBe(6000);

    clock.now += 60_000;
    await trail.flush();
    note('http.script');
    await trail.flush();
    expect(written.at(-1)?.kind).toBe('http.script');
  });

  it('records the count when it closes during a flood', async () => {
    const { trail, note, written } = recorder();
    for (let at = 0; at < 500; at++) note('tftp.completed');
    await trail.close();
    expect(written.at(-1)).toMatchObject({ kind: 'trail.flood', data: { of: 'tftp.completed', count: 380 } });
  });

  it('stores events about the network during a flood of unknown machines, within their own limit', async () => {
    const { trail, written } = recorder();
    for (let at = 0; at < 10_000; at++)
      trail.note({ kind: 'dhcp.discover', mac: other, machine: null, data: sampleData('dhcp.discover') });
    for (let at = 0; at < 1000; at++) {
      trail.note({ kind: 'dhcp.rogue', mac: null, machine: null, siteWide: true, data: sampleData('dhcp.rogue') });
    }
    await trail.flush();
    expect(written.filter(({ kind }) => kind === 'dhcp.rogue')).toHaveLength(10);
  });
});
