import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const taskTables: Migration = {
  number: 6,
  name: 'tasks',
  async up(db) {
    await sql`create table tasks (
      id text not null primary key,
      machine text not null references machines (id),
      kind text not null,
      parameters text not null,
      state text not null,
      actor text not null,
      created_at bigint not null,
      expires_at bigint not null,
      payload text not null,
      signature text not null,
      signing_key text not null,
      lease text,
      lease_until bigint,
      attempts bigint not null,
      finished_at bigint,
      result text
    )`.execute(db);
    await sql`create index tasks_by_machine on tasks (machine, created_at)`.execute(db);
    await sql`create index tasks_open on tasks (machine, created_at)
      where state in ('queued', 'leased', 'running')`.execute(db);
    await sql`create table heartbeats (
      machine text not null primary key references machines (id),
      at bigint not null,
      report text not null
    )`.execute(db);
    // The certified key and the certificate of a used token, so that a lost reply can be repeated.
    await sql`alter table enrollment_tokens add column redeemed_key text`.execute(db);
    await sql`alter table enrollment_tokens add column redeemed_certificate text`.execute(db);
  },
};
