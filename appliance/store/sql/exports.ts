// The methods of `export-store.ts`, each in its transaction.

import type { Kysely, Selectable } from 'kysely';
import type { StoredEvent } from '../../domain/event.ts';
import type { DeadLetter, ExportAdvance, ExportCursor, ExportState, ExportStore } from '../export-store.ts';
import { insertAudit } from './audit.ts';
import { CHUNK_ROWS, oneByOne } from './chunks.ts';
import { readCounters } from './counters.ts';
import { insertEvents } from './events.ts';
import type { Database, DeadLetterTable } from './schema.ts';
import { type Reader, reading, type Writer, writing } from './transaction.ts';

export const exportVerbs = (db: Kysely<Database>): ExportStore => ({
  startExport: (receiver, stream, from) => writing(db, (trx) => startExport(trx, receiver, stream, from)),
  exportState: (receiver) => reading(db, (trx) => readState(trx, receiver)),
  advanceExport: (advance, most) => writing(db, (trx) => advanceExport(trx, advance, most)),
  deadLetters: async (receiver, after, limit) =>
    (await lettersOf(db, receiver).where('seq', '>', after).limit(limit).execute()).map(toLetter),
  waitingReplays: async (receiver, limit) =>
    (await lettersOf(db, receiver).where('replay', '=', 1).limit(limit).execute()).map(toLetter),
  replayDeadLetters: (receiver, events, audit) =>
    writing(db, async (trx) => {
      const marked = events === null ? await markAll(trx, receiver) : await markEach(trx, receiver, events);
      if (marked > 0) await insertAudit(trx, [audit]);
      return marked;
    }),
  finishReplay: (receiver, event) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('dead_letters')
        .where('receiver', '=', receiver)
        .where('seq', '=', event)
        .executeTakeFirstOrThrow();
      if (numDeletedRows > 0n) await addToCursor(trx, receiver, { delivered: 1, lost: 0 });
    }),
  refuseReplay: (receiver, event, at, reason) =>
    writing(db, async (trx) => {
      await trx
        .updateTable('dead_letters')
        .set((eb) => ({ replay: 0, at, reason, attempts: eb('attempts', '+', 1) }))
        .where('receiver', '=', receiver)
        .where('seq', '=', event)
        .execute();
    }),
  trimDeadLetters: (before) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('dead_letters')
        .where('at', '<', before)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    }),
});

const lettersOf = (db: Reader, receiver: string) =>
  db.selectFrom('dead_letters').selectAll().where('receiver', '=', receiver).orderBy('seq');

const readCursor = async (db: Reader, receiver: string): Promise<ExportCursor | null> =>
  (await db.selectFrom('export_cursors').selectAll().where('receiver', '=', receiver).executeTakeFirst()) ?? null;

async function startExport(
  trx: Writer,
  receiver: string,
  stream: string,
  from: 'newest' | 'oldest',
): Promise<ExportCursor> {
  const known = await readCursor(trx, receiver);
  if (known) return known;
  const { event: newest } = await readCounters(trx);
  const oldest = from === 'newest' ? null : await firstAfter(trx, 0);
  const cursor = { receiver, stream, seq: oldest === null ? newest : oldest.seq - 1, delivered: 0, lost: 0 };
  await trx.insertInto('export_cursors').values(cursor).execute();
  return cursor;
}

const firstAfter = async (db: Reader, seq: number): Promise<{ seq: number; at: number } | null> =>
  (await db
    .selectFrom('events')
    .select(['seq', 'at'])
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()) ?? null;

async function readState(db: Reader, receiver: string): Promise<ExportState | null> {
  const cursor = await readCursor(db, receiver);
  if (!cursor) return null;
  const { event: newest } = await readCounters(db);
  return {
    cursor,
    newest,
    waitingSince: (await firstAfter(db, cursor.seq))?.at ?? null,
    deadLetters: await countLetters(db, receiver),
  };
}

async function countLetters(db: Reader, receiver: string): Promise<number> {
  const { count } = await db
    .selectFrom('dead_letters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('receiver', '=', receiver)
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function advanceExport(trx: Writer, advance: ExportAdvance, mostDeadLetters: number): Promise<boolean> {
  const { receiver, from, to, delivered, lost, deadLetters, events } = advance;
  const { numUpdatedRows } = await trx
    .updateTable('export_cursors')
    .set({ seq: to })
    .where('receiver', '=', receiver)
    .where('seq', '=', from)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) return false;
  await oneByOne(deadLetters, ({ event, at, attempts, reason }) =>
    trx
      .insertInto('dead_letters')
      .values({ receiver, seq: event.seq, event: JSON.stringify(event), at, attempts, reason, replay: 0 })
      .onConflict((conflict) => conflict.columns(['receiver', 'seq']).doUpdateSet({ at, attempts, reason }))
      .execute(),
  );
  const dropped = deadLetters.length === 0 ? 0 : await dropOldest(trx, receiver, mostDeadLetters);
  if (delivered + lost + dropped > 0) await addToCursor(trx, receiver, { delivered, lost: lost + dropped });
  await insertEvents(trx, events);
  return true;
}

async function dropOldest(trx: Writer, receiver: string, most: number): Promise<number> {
  const over = (await countLetters(trx, receiver)) - most;
  if (over <= 0) return 0;
  const { numDeletedRows } = await trx
    .deleteFrom('dead_letters')
    .where('receiver', '=', receiver)
    .where('seq', 'in', (eb) =>
      eb.selectFrom('dead_letters').select('seq').where('receiver', '=', receiver).orderBy('seq').limit(over),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

async function addToCursor(
  trx: Writer,
  receiver: string,
  { delivered, lost }: Pick<ExportCursor, 'delivered' | 'lost'>,
): Promise<void> {
  await trx
    .updateTable('export_cursors')
    .set((eb) => ({ delivered: eb('delivered', '+', delivered), lost: eb('lost', '+', lost) }))
    .where('receiver', '=', receiver)
    .execute();
}

const toReplay = (trx: Writer, receiver: string) =>
  trx.updateTable('dead_letters').set({ replay: 1 }).where('receiver', '=', receiver).where('replay', '=', 0);

async function markAll(trx: Writer, receiver: string): Promise<number> {
  return Number((await toReplay(trx, receiver).executeTakeFirstOrThrow()).numUpdatedRows);
}

async function markEach(trx: Writer, receiver: string, events: readonly number[]): Promise<number> {
  let marked = 0;
  for (let start = 0; start < events.length; start += CHUNK_ROWS) {
    const chunk = events.slice(start, start + CHUNK_ROWS);
    const { numUpdatedRows } = await toReplay(trx, receiver).where('seq', 'in', chunk).executeTakeFirstOrThrow();
    marked += Number(numUpdatedRows);
  }
  return marked;
}

const toLetter = ({ event, at, attempts, reason, replay }: Selectable<DeadLetterTable>): DeadLetter => ({
  event: JSON.parse(event) as StoredEvent,
  at,
  attempts,
  reason,
  replay: replay === 1,
});
