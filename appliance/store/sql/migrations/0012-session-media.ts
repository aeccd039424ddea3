import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const sessionMedia: Migration = {
  number: 12,
  name: 'session-media',
  async up(db) {
    await sql`create table session_media (
      machine text not null primary key references machines (id),
      salt text not null,
      path_hash text not null unique,
      bmc text not null,
      since bigint not null,
      made_at bigint not null,
      expires_at bigint not null,
      inserted_at bigint,
      fetched_at bigint,
      used_by text,
      ended_at bigint
    )`.execute(db);
  },
};
