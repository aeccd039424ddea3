import { type Selectable, sql } from 'kysely';
import type { Effect, EffectId, NewEffect } from '../../domain/effect.ts';
import type { Instant } from '../../domain/instant.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import { inChunks } from './chunks.ts';
import { advance } from './counters.ts';
import type { EffectTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

/** Due immediately, from the start of their state visit. */
export async function insertEffects(trx: Writer, effects: readonly NewEffect[], since: Instant): Promise<void> {
  if (effects.length === 0) return;
  const first = (await advance(trx, 'effect', effects.length)) - effects.length + 1;
  const rows = effects.map((effect, index) => ({
    seq: first + index,
    id: effect.id,
    machine: effect.machine,
    kind: effect.kind,
    correlation_id: effect.correlationId,
    state: 'pending' as const,
    attempts: 0,
    not_before: since,
    last_error: null,
  }));
  await inChunks(rows, (chunk) => trx.insertInto('effects').values(chunk).execute());
}

/** Pending effects without an earlier running or pending effect of the same machine. */
const firstInLine = (db: Reader) =>
  db
    .selectFrom('effects as effect')
    .where('effect.state', '=', 'pending')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('effects as earlier')
            .select(sql.lit(1).as('found'))
            .whereRef('earlier.machine', '=', 'effect.machine')
            .whereRef('earlier.seq', '<', 'effect.seq')
            .where('earlier.state', 'in', ['pending', 'running']),
        ),
      ),
    );

/** The outer query checks the state again: a concurrent taker that waited for the row lock then sees it taken. */
export async function takeEffects(trx: Writer, now: Instant, limit: number): Promise<Effect[]> {
  const due = firstInLine(trx)
    .select('effect.seq')
    .where('effect.not_before', '<=', now)
    .orderBy('effect.seq')
    .limit(limit);
  const rows = await trx
    .updateTable('effects')
    .set((eb) => ({ state: 'running', attempts: eb('attempts', '+', 1) }))
    .where('seq', 'in', due)
    .where('state', '=', 'pending')
    .returningAll()
    .execute();
  return rows.map(toEffect).sort((a, b) => a.seq - b.seq);
}

export async function reclaimEffects(trx: Writer): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('effects')
    .set({ state: 'pending' })
    .where('state', '=', 'running')
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

export async function readEffects(db: Reader, machine: MachineId): Promise<Effect[]> {
  const rows = await db.selectFrom('effects').selectAll().where('machine', '=', machine).orderBy('seq').execute();
  return rows.map(toEffect);
}

export async function readNextEffectDue(db: Reader): Promise<Instant | null> {
  const row = await firstInLine(db)
    .select((eb) => eb.fn.min('effect.not_before').as('next'))
    .executeTakeFirst();
  return row?.next ?? null;
}

/** Ends a running effect. False: another runner has ended it, or there is no such effect. */
export async function settleEffect(
  trx: Writer,
  id: EffectId,
  changes: Partial<Pick<EffectTable, 'state' | 'not_before' | 'last_error'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('effects')
    .set(changes)
    .where('id', '=', id)
    .where('state', '=', 'running')
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** The id is cast: only `insertEffects` writes it, from an EffectId. */
const toEffect = (row: Selectable<EffectTable>): Effect => ({
  id: row.id as EffectId,
  seq: row.seq,
  machine: mustParse(parseMachineId(row.machine)),
  kind: row.kind,
  correlationId: row.correlation_id,
  state: row.state,
  attempts: row.attempts,
  notBefore: row.not_before,
  lastError: row.last_error,
});
