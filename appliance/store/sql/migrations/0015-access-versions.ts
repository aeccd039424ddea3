import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const accessVersions: Migration = {
  number: 15,
  name: 'access-versions',
  async up(db) {
    await sql`create table access_versions (
      kind text not null,
      name text not null,
      version bigint not null,
      at bigint not null,
      actor text not null,
      value text not null,
      primary key (kind, name, version)
    )`.execute(db);
  },
};
