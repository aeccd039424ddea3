// One step of the schema. Steps are numbered, only go forward, and are never edited once a release has carried them out.

import type { Kysely } from 'kysely';

/** Where engines differ in how tables are made. */
export interface EngineDdl {
  /** The column type of a 64-bit number that is the primary key. */
  readonly numberKey: 'integer' | 'bigint';
  /** Makes the engine itself refuse an operation on a table, with these words. */
  forbid(db: Kysely<unknown>, operation: 'update' | 'delete', table: string, words: string): Promise<void>;
}

export interface Migration {
  readonly number: number;
  readonly name: string;
  up(db: Kysely<unknown>, ddl: EngineDdl): Promise<void>;
}
