import type { Kysely, Transaction } from 'kysely';
import type { Database } from './schema.ts';

/** For queries that may run inside or outside a transaction. */
export type Reader = Kysely<Database>;
/** For queries that must run inside a transaction. */
export type Writer = Transaction<Database>;

export const writing = <T>(db: Kysely<Database>, work: (trx: Writer) => Promise<T>): Promise<T> =>
  db.transaction().execute(work);

/** Several reads of one snapshot. */
export const reading = <T>(db: Kysely<Database>, work: (trx: Reader) => Promise<T>): Promise<T> =>
  db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(work);
