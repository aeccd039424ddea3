import { expect, it } from 'vitest';
import type { ExportAdvance } from '../../../appliance/store/export-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { NOW, newAudit, newEvent } from '../samples.ts';

const MOST = 3;
const advance = (from: number, to: number, changes: Partial<ExportAdvance> = {}): ExportAdvance => ({
  receiver: 'logs',
  from,
  to,
  delivered: to - from,
  lost: 0,
  deadLetters: [],
  events: [],
  ...changes,
});

export function exportsContract(engine: Engine): void {
  const opened = useStore(engine);
  const withEvents = async (count: number) => {
    const { store } = opened();
    await store.appendEvents(Array.from({ length: count }, (_, n) => newEvent(`kind${n + 1}`, { at: NOW + n })));
    return store;
  };
  const letters = async (...seqs: number[]) => {
    const events = await opened().store.events({ limit: 100 });
    return events
      .filter(({ seq }) => seqs.includes(seq))
      .map((event) => ({ event, at: NOW + event.seq, attempts: 5, reason: `refused ${event.seq}` }));
  };

  it('starts after the newest event, or before the oldest one that is left', async () => {
    const store = await withEvents(5);
    await store.trimEvents(NOW + 2);
    expect(await store.startExport('logs', 's1', 'newest')).toMatchObject({ seq: 5, stream: 's1' });
    expect(await store.startExport('all', 's2', 'oldest')).toMatchObject({ seq: 2, stream: 's2' });
    await store.trimEvents(NOW + 100);
    expect(await store.startExport('none-left', 's3', 'oldest')).toMatchObject({ seq: 5 });
  });

  it('continues where it was, in another process as well', async () => {
    const store = await withEvents(3);
    await store.startExport('logs', 's1', 'oldest');
    expect(await store.advanceExport(advance(0, 2), MOST)).toBe(true);
    const again = await (await opened().another()).startExport('logs', 's9', 'newest');
    expect(again).toEqual({ receiver: 'logs', stream: 's1', seq: 2, delivered: 2, lost: 0 });
    expect(await store.exportState('logs')).toEqual({
      cursor: again,
      newest: 3,
      waitingSince: NOW + 2,
      deadLetters: 0,
    });
    expect(await store.exportState('unknown')).toBeNull();
  });

  it('moves only from where it is, and writes nothing otherwise', async () => {
    const store = await withEvents(3);
    await store.startExport('logs', 's1', 'oldest');
    await store.advanceExport(advance(0, 2), MOST);
    const stale = advance(0, 3, { deadLetters: await letters(3), events: [newEvent('export.lost')] });
    expect(await store.advanceExport(stale, MOST)).toBe(false);
    expect(await store.exportState('logs')).toMatchObject({
      cursor: { seq: 2, delivered: 2 },
      deadLetters: 0,
      newest: 3,
    });
  });

  it('keeps dead letters unchanged, and at most so many; those it deletes count as lost', async () => {
    const store = await withEvents(6);
    await store.startExport('logs', 's1', 'oldest');
    const two = await letters(1, 2);
    await store.advanceExport(advance(0, 2, { delivered: 0, deadLetters: two }), MOST);
    expect(await store.deadLetters('logs', 0, 10)).toEqual(two.map((letter) => ({ ...letter, replay: false })));
    expect(await store.deadLetters('logs', 1, 10)).toHaveLength(1);
    expect(await store.deadLetters('other', 0, 10)).toEqual([]);
    await store.advanceExport(advance(2, 6, { delivered: 0, lost: 1, deadLetters: await letters(3, 4, 5) }), MOST);
    expect((await store.deadLetters('logs', 0, 10)).map(({ event }) => event.seq)).toEqual([3, 4, 5]);
    expect(await store.exportState('logs')).toMatchObject({ cursor: { lost: 3, delivered: 0 }, deadLetters: 3 });
  });

  it('sends dead letters again: those that are named, or all', async () => {
    const store = await withEvents(3);
    await store.startExport('logs', 's1', 'oldest');
    await store.advanceExport(advance(0, 3, { delivered: 0, deadLetters: await letters(1, 2, 3) }), MOST);
    const waiting = async () => (await store.waitingReplays('logs', 10)).map(({ event }) => event.seq);
    const audited = async () => (await store.auditEntries(0, 10)).length;
    expect(await store.replayDeadLetters('logs', [2, 99], newAudit('export.replay'))).toBe(1);
    expect([await waiting(), await audited()]).toEqual([[2], 1]);
    expect(await store.replayDeadLetters('logs', [2], newAudit('export.replay'))).toBe(0);
    expect(await audited()).toBe(1);
    expect(await store.replayDeadLetters('logs', null, newAudit('export.replay'))).toBe(2);
    expect(await waiting()).toEqual([1, 2, 3]);
    await store.finishReplay('logs', 1);
    await store.finishReplay('logs', 1);
    await store.refuseReplay('logs', 2, NOW + 50, 'still refused');
    expect(await waiting()).toEqual([3]);
    expect(await store.deadLetters('logs', 0, 10)).toMatchObject([
      { event: { seq: 2 }, attempts: 6, reason: 'still refused', at: NOW + 50, replay: false },
      { event: { seq: 3 }, replay: true },
    ]);
    expect(await store.exportState('logs')).toMatchObject({ cursor: { delivered: 1 }, deadLetters: 2 });
  });

  it('deletes old dead letters', async () => {
    const store = await withEvents(2);
    await store.startExport('logs', 's1', 'oldest');
    await store.advanceExport(advance(0, 2, { deadLetters: await letters(1, 2) }), MOST);
    expect(await store.trimDeadLetters(NOW + 2)).toBe(1);
    expect(await store.exportState('logs')).toMatchObject({ deadLetters: 1 });
  });
}
