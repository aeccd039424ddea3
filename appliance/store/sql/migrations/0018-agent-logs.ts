import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const agentLogs: Migration = {
  number: 18,
  name: 'agent-logs',
  async up(db) {
    await sql`create table agent_logs (
      machine text not null references machines (id),
      stream text not null,
      number bigint not null,
      at bigint not null,
      received_at bigint not null,
      action text not null,
      error_class text,
      message text not null,
      primary key (machine, stream, number)
    )`.execute(db);
    await sql`create index agent_logs_by_machine on agent_logs (machine, received_at)`.execute(db);
    await sql`create index agent_logs_by_time on agent_logs (received_at)`.execute(db);
    // One request is found by its correlation id.
    await sql`create index events_by_correlation on events (correlation_id, seq)
      where correlation_id is not null`.execute(db);
    await sql`create index audit_by_correlation on audit (correlation_id, seq)
      where correlation_id is not null`.execute(db);
  },
};
