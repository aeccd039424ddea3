import type { CounterName } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

/**
 * Adds to a counter and returns its new value. Numbers do not come from an engine's sequence, because a sequence assigns them
 * before the commit: a reader that continues after the last number it saw would miss the rows of a slower transaction.
 */
export async function advance(trx: Writer, name: CounterName, by = 1): Promise<number> {
  const { value } = await trx
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', by) }))
    .where('name', '=', name)
    .returning('value')
    .executeTakeFirstOrThrow();
  return value;
}

export async function setCounter(trx: Writer, name: CounterName, value: number): Promise<void> {
  await trx.updateTable('counters').set({ value }).where('name', '=', name).execute();
}

export async function readCounters(db: Reader): Promise<Record<CounterName, number>> {
  const rows = await db.selectFrom('counters').selectAll().execute();
  return Object.fromEntries(rows.map(({ name, value }) => [name, value])) as Record<CounterName, number>;
}
