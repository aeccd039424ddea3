import { sql } from 'kysely';
import type { Migration } from './migration.ts';

/** `open_key` is set while the proposal is open: the same change is proposed once. */
export const proposalTable: Migration = {
  number: 20,
  name: 'proposals',
  async up(db) {
    await sql`create table proposals (
      id text not null primary key,
      seq bigint not null unique,
      state text not null,
      subject text not null,
      proposed_by text not null,
      ended_at bigint,
      open_key text unique,
      version bigint not null,
      record text not null
    )`.execute(db);
    await sql`create index proposals_by_subject on proposals (subject, state)`.execute(db);
  },
};
