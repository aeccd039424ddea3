import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const exportTables: Migration = {
  number: 13,
  name: 'exports',
  async up(db) {
    await sql`create table export_cursors (
      receiver text not null primary key,
      stream text not null,
      seq bigint not null,
      delivered bigint not null,
      lost bigint not null
    )`.execute(db);
    await sql`create table dead_letters (
      receiver text not null,
      seq bigint not null,
      event text not null,
      at bigint not null,
      attempts bigint not null,
      reason text not null,
      replay bigint not null,
      primary key (receiver, seq)
    )`.execute(db);
    await sql`create index dead_letters_by_time on dead_letters (at)`.execute(db);
    await sql`create index dead_letters_to_replay on dead_letters (receiver, seq) where replay = 1`.execute(db);
  },
};
