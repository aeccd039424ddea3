import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const requestTable: Migration = {
  number: 10,
  name: 'requests',
  async up(db) {
    await sql`create table requests (
      id text not null primary key,
      fingerprint text not null,
      operation text not null,
      holder text not null,
      claimed_at bigint not null,
      finished_at bigint,
      outcome text
    )`.execute(db);
    await sql`create index requests_by_age on requests (claimed_at)`.execute(db);
  },
};
