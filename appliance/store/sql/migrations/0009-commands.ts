import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const commandTable: Migration = {
  number: 9,
  name: 'commands',
  async up(db) {
    await sql`create table commands (
      id text not null primary key,
      digest text not null,
      machine text not null references machines (id),
      result text not null,
      at bigint not null
    )`.execute(db);
    await sql`create index commands_by_time on commands (at)`.execute(db);
    // Revocations are now part of the change that needs them. Pending revocations of an earlier version are done here.
    const waiting = sql`select machine from effects where state in ('pending', 'running') and kind =`;
    await sql`update intents set revoked_at = armed_at
      where consumed_at is null and revoked_at is null and machine in (${waiting} 'revoke-intents')
        and machine not in (select id from machines where state in ('deploying', 'releasing'))`.execute(db);
    await sql`update enrollment_tokens set revoked_at = created_at
      where consumed_at is null and revoked_at is null and machine in (${waiting} 'revoke-identity')`.execute(db);
    await sql`update certificates set revoked_at = not_before, revoked_because = 'the node was released or removed'
      where revoked_at is null and machine in (${waiting} 'revoke-identity')`.execute(db);
    await sql`update effects set state = 'done'
      where state in ('pending', 'running') and kind in ('revoke-intents', 'revoke-identity')`.execute(db);
  },
};
