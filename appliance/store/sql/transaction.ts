import type { Kysely, Transaction } from 'kysely';
import type { Database } from './schema.ts';

/** Queries that may run inside a transaction or outside of one. */
export type Reader = Kysely<Database>;
/** Queries that must run inside one: what they write belongs together. */
export type Writer = Transaction<Database>;

export const writing = <T>(db: Kysely<Database>, work: (trx: Writer) => Promise<T>): Promise<T> =>
  db.transaction().execute(work);

/** Several reads that see one and the same moment. */
export const reading = <T>(db: Kysely<Database>, work: (trx: Reader) => Promise<T>): Promise<T> =>
  db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(work);
