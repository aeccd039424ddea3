import { setImmediate } from 'node:timers/promises';

/**
 * Rows per statement. SQLite allows 32,766 values in one statement and PostgreSQL 65,535; the widest table has 11 columns.
 * Fewer rows keep each blocking call below a few milliseconds.
 */
export const CHUNK_ROWS = 250;

/** Processes rows in chunks and yields to the event loop in between. */
export async function inChunks<T>(rows: readonly T[], work: (chunk: readonly T[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
    if (start > 0) await setImmediate();
    await work(rows.slice(start, start + CHUNK_ROWS));
  }
}

/** The same with one statement per row. */
export const oneByOne = <T>(rows: readonly T[], work: (row: T) => Promise<unknown>): Promise<void> =>
  inChunks(rows, async (chunk) => {
    for (const row of chunk) await work(row);
  });
