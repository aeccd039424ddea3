import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const sessionTables: Migration = {
  number: 4,
  name: 'sessions',
  async up(db) {
    await sql`create table sessions (
      id text not null primary key,
      machine text not null references machines (id),
      mode text not null,
      work_order text not null,
      ticket_hash text not null unique,
      ticket_made_at bigint not null,
      ticket_expires_at bigint not null,
      key_hash text unique,
      opened_at bigint,
      expires_at bigint,
      heard_at bigint,
      sequence bigint not null,
      last_step text,
      ended_at bigint,
      ended_how text,
      ended_reason text
    )`.execute(db);
    await sql`create index sessions_by_machine on sessions (machine, ticket_made_at)`.execute(db);
    await sql`create table session_files (
      session text not null references sessions (id),
      name text not null,
      taken_at bigint not null,
      primary key (session, name)
    )`.execute(db);
    await sql`create table facts (
      machine text not null references machines (id),
      at bigint not null,
      facts text not null,
      primary key (machine, at)
    )`.execute(db);
  },
};
