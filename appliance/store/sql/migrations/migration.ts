// One migration of the schema. Migrations are numbered, only go forward, and are never edited after a release.

import type { Kysely } from 'kysely';

/** DDL that differs between engines. */
export interface EngineDdl {
  /** The column type of a 64-bit integer primary key. */
  readonly numberKey: 'integer' | 'bigint';
  /** Makes the engine reject an operation on a table with this message. */
  forbid(db: Kysely<unknown>, operation: 'update' | 'delete', table: string, message: string): Promise<void>;
}

export interface Migration {
  readonly number: number;
  readonly name: string;
  up(db: Kysely<unknown>, ddl: EngineDdl): Promise<void>;
}
