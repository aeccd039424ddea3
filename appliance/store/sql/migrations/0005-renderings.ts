import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const renderingTables: Migration = {
  number: 5,
  name: 'renderings',
  async up(db) {
    await sql`create table renderings (
      machine text not null primary key references machines (id),
      at bigint not null,
      given_by text not null,
      inventory_revision bigint not null,
      files text not null
    )`.execute(db);
  },
};
