import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const allocationTables: Migration = {
  number: 16,
  name: 'allocations',
  async up(db) {
    await sql`create table allocations (
      id text not null primary key,
      machine text not null references machines (id),
      username text not null,
      state text not null,
      requested_at bigint not null,
      value text not null
    )`.execute(db);
    await sql`create index allocations_by_machine on allocations (machine, requested_at)`.execute(db);
    await sql`create index allocations_by_time on allocations (requested_at)`.execute(db);
    await sql`alter table machines add column allocation text`.execute(db);
  },
};
