import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const webSessions: Migration = {
  number: 17,
  name: 'web-sessions',
  async up(db) {
    await sql`create table web_sessions (
      id text not null primary key,
      secret_hash text not null,
      token text references tokens (id),
      actor text not null,
      role text not null,
      created_at bigint not null,
      used_at bigint not null,
      expires_at bigint not null
    )`.execute(db);
    await sql`create index web_sessions_by_expiry on web_sessions (expires_at)`.execute(db);
  },
};
