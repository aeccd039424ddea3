import { setImmediate } from 'node:timers/promises';

/**
 * Rows per statement. SQLite takes 32,766 values in one statement and PostgreSQL 65,535, the widest table has 11 columns;
 * fewer rows keep the time in which nothing else in the process runs below some milliseconds.
 */
export const CHUNK_ROWS = 250;

/** Works through many rows a chunk at a time, and lets the rest of the process run in between. */
export async function inChunks<T>(rows: readonly T[], work: (chunk: readonly T[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < rows.length; start += CHUNK_ROWS) {
    if (start > 0) await setImmediate();
    await work(rows.slice(start, start + CHUNK_ROWS));
  }
}

/** The same for rows that need a statement each. */
export const oneByOne = <T>(rows: readonly T[], work: (row: T) => Promise<unknown>): Promise<void> =>
  inChunks(rows, async (chunk) => {
    for (const row of chunk) await work(row);
  });
