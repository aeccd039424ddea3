import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Json } from '../../../appliance/domain/event.ts';
import { type Engine, useStore } from '../engines.ts';
import { allEvents, eventKinds, NOW, newEvent, newMachineId } from '../samples.ts';

export function eventsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('numbers events in the order they were appended', async () => {
    const { store } = opened();
    const machine = newMachineId();
    const events = [
      newEvent('dhcp.offered', { machine, data: { address: '10.0.0.1' }, correlationId: 'c1' }),
      newEvent('tftp.sent', { actor: 'machine:node1', at: NOW - 1 }),
    ];
    await store.appendEvents(events);
    await store.appendEvents([newEvent('http.sent')]);
    expect(await allEvents(store)).toEqual([
      { ...events[0], seq: 1 },
      { ...events[1], seq: 2 },
      { ...newEvent('http.sent'), seq: 3 },
    ]);
  });

  it('assigns numbers without gaps to concurrent callers', async () => {
    const { store, another } = opened();
    const other = await another();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 ? store : other).appendEvents([newEvent('a'), newEvent('b')])),
    );
    expect((await allEvents(store)).map(({ seq }) => seq)).toEqual(Array.from({ length: 80 }, (_, n) => n + 1));
  });

  it('stores any JSON unchanged', async () => {
    const { store } = opened();
    const data = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);
    await fc.assert(
      fc.asyncProperty(data, async (value) => {
        await store.appendEvents([newEvent('fact', { data: value })]);
        expect((await store.events({ limit: 1, newest: true }))[0]?.data).toEqual(value);
      }),
      { numRuns: 50 },
    );
  });

  it('finds the events of one machine', async () => {
    const { store } = opened();
    const machine = newMachineId();
    await store.appendEvents([newEvent('a', { machine }), newEvent('b', { machine: newMachineId() }), newEvent('c')]);
    expect(await store.events({ machine, limit: 10 })).toMatchObject([{ kind: 'a', machine }]);
  });

  it('finds a kind and everything below it, but not kinds with the same prefix', async () => {
    const { store } = opened();
    const kinds = ['lifecycle', 'lifecycle.ready', 'lifecycle.ready.again', 'lifecycle-x', 'lifecycles', 'life', 'x'];
    await store.appendEvents(kinds.map((kind) => newEvent(kind)));
    const found = async (kind: string): Promise<string[]> =>
      (await store.events({ kind, limit: 10 })).map((event) => event.kind);
    expect(await found('lifecycle')).toEqual(['lifecycle', 'lifecycle.ready', 'lifecycle.ready.again']);
    expect(await found('lifecycle.ready')).toEqual(['lifecycle.ready', 'lifecycle.ready.again']);
    expect(await found('%')).toEqual([]);
  });

  it('pages forward from a number, and back from the newest, always in order', async () => {
    const { store } = opened();
    await store.appendEvents(['a', 'b', 'c', 'd', 'e'].map((kind) => newEvent(kind)));
    const seqs = async (query: { after?: number; limit: number; newest?: boolean }): Promise<number[]> =>
      (await store.events(query)).map(({ seq }) => seq);
    expect(await seqs({ limit: 2 })).toEqual([1, 2]);
    expect(await seqs({ after: 2, limit: 2 })).toEqual([3, 4]);
    expect(await seqs({ limit: 2, newest: true })).toEqual([4, 5]);
    expect(await seqs({ after: 4, limit: 3, newest: true })).toEqual([5]);
    expect(await seqs({ limit: 0 })).toEqual([]);
  });

  it('combines all filters', async () => {
    const { store } = opened();
    const machine = newMachineId();
    const of = (kind: string) => newEvent(kind, { machine });
    await store.appendEvents([
      of('dhcp.offered'),
      of('dhcp.acked'),
      newEvent('dhcp.acked'),
      of('tftp.sent'),
      of('dhcp.acked'),
    ]);
    const query = { machine, kind: 'dhcp', after: 1, limit: 1, newest: true } as const;
    expect(await store.events(query)).toMatchObject([{ seq: 5 }]);
  });

  it('deletes events older than a time, in any order, and assigns no number twice', async () => {
    const { store } = opened();
    const at = [NOW - 2, NOW + 1, NOW - 1, NOW];
    await store.appendEvents(at.map((instant) => newEvent(`at${instant - NOW}`, { at: instant })));
    expect(await store.trimEvents(NOW)).toBe(2);
    expect(await eventKinds(store)).toEqual(['at1', 'at0']);
    expect(await store.trimEvents(NOW + 10)).toBe(2);
    expect(await store.trimEvents(NOW + 10)).toBe(0);
    await store.appendEvents([newEvent('new')]);
    expect(await allEvents(store)).toMatchObject([{ seq: 5 }]);
  });

  it('keeps only the newest events over a number, whatever their age', async () => {
    const { store } = opened();
    await store.appendEvents([1, 2, 3, 4, 5].map((n) => newEvent(`e${n}`, { at: n === 5 ? NOW - 1 : NOW })));
    expect(await store.trimEvents(NOW, 3)).toBe(3);
    expect(await eventKinds(store)).toEqual(['e3', 'e4']);
    expect(await store.trimEvents(0, 100)).toBe(0);
  });

  it('deletes more than fit one statement', async () => {
    const { store } = opened();
    await store.appendEvents(Array.from({ length: 6_000 }, () => newEvent('old', { at: NOW - 1 })));
    expect(await store.trimEvents(NOW)).toBe(6_000);
    expect(await eventKinds(store)).toEqual([]);
  });

  it('rejects changes of an event', async () => {
    const { store, execute } = opened();
    await store.appendEvents([newEvent('a')]);
    await expect(execute("update events set kind = 'b'")).rejects.toThrow('events are appended, never changed');
    expect(await eventKinds(store)).toEqual(['a']);
  });
}
