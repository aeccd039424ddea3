// Plain SQL that every engine supports; `EngineDdl` covers the differences.

import { type Kysely, sql } from 'kysely';
import { AUDIT_GENESIS } from '../../../domain/event.ts';
import type { EngineDdl, Migration } from './migration.ts';

export const firstTables: Migration = {
  number: 1,
  name: 'first-tables',
  async up(db, ddl) {
    await createCounters(db);
    await createInventory(db);
    await createIntents(db);
    await createEffects(db, ddl);
    await createLeasesAndTokens(db);
    await createEvents(db, ddl);
    await createAudit(db, ddl);
  },
};

async function createCounters(db: Kysely<unknown>): Promise<void> {
  await sql`create table counters (name text not null primary key, value bigint not null)`.execute(db);
  await sql`insert into counters (name, value)
    values ('revision', 0), ('declared', 0), ('catalogue', 0), ('event', 0), ('effect', 0)`.execute(db);
}

async function createInventory(db: Kysely<unknown>): Promise<void> {
  await sql`create table catalogue (
    kind text not null,
    name text not null,
    source text not null,
    value text not null,
    primary key (kind, name)
  )`.execute(db);
  await sql`create table machines (
    id text not null primary key,
    hostname text not null,
    source text not null,
    spec text not null,
    state text not null,
    deadline bigint,
    lifecycle text not null,
    health text not null,
    intent text,
    version bigint not null,
    revision bigint not null
  )`.execute(db);
  await sql`create index machines_by_revision on machines (revision)`.execute(db);
  await sql`create index machines_by_deadline on machines (deadline) where deadline is not null`.execute(db);
  await sql`create table machine_claims (
    kind text not null,
    value text not null,
    machine text not null references machines (id),
    primary key (kind, value)
  )`.execute(db);
  await sql`create index machine_claims_by_machine on machine_claims (machine)`.execute(db);
}

async function createIntents(db: Kysely<unknown>): Promise<void> {
  await sql`create table intents (
    id text not null primary key,
    machine text not null references machines (id),
    terms text not null,
    armed_at bigint not null,
    expires_at bigint not null,
    consumed_at bigint,
    revoked_at bigint
  )`.execute(db);
  // The engine enforces at most one open intent per machine.
  await sql`create unique index intents_open on intents (machine)
    where consumed_at is null and revoked_at is null`.execute(db);
}

async function createEffects(db: Kysely<unknown>, ddl: EngineDdl): Promise<void> {
  await sql`create table effects (
    seq ${sql.raw(ddl.numberKey)} not null primary key,
    id text not null unique,
    machine text not null references machines (id),
    kind text not null,
    correlation_id text,
    state text not null,
    attempts bigint not null,
    not_before bigint not null,
    last_error text
  )`.execute(db);
  await sql`create index effects_by_machine on effects (machine, seq)`.execute(db);
  // Partial indexes over the few open effects: one to find them, one for their order per machine.
  await sql`create index effects_by_state on effects (state, seq) where state in ('pending', 'running')`.execute(db);
  await sql`create index effects_in_line on effects (machine, seq) where state in ('pending', 'running')`.execute(db);
}

async function createLeasesAndTokens(db: Kysely<unknown>): Promise<void> {
  await sql`create table leases (
    address text not null primary key,
    mac text not null,
    network text not null,
    state text not null,
    granted_at bigint not null,
    expires_at bigint not null
  )`.execute(db);
  await sql`create table tokens (
    id text not null primary key,
    name text not null,
    role text not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    secret_hash text not null
  )`.execute(db);
}

/** No foreign key to machines: the trail keeps events of any machine. */
async function createEvents(db: Kysely<unknown>, ddl: EngineDdl): Promise<void> {
  await sql`create table events (
    seq ${sql.raw(ddl.numberKey)} not null primary key,
    at bigint not null,
    kind text not null,
    actor text not null,
    machine text,
    correlation_id text,
    data text not null
  )`.execute(db);
  await sql`create index events_by_machine on events (machine, seq) where machine is not null`.execute(db);
  await sql`create index events_by_kind on events (kind, seq)`.execute(db);
  await sql`create index events_by_time on events (at)`.execute(db);
  await ddl.forbid(db, 'update', 'events', 'events are appended, never changed');
}

async function createAudit(db: Kysely<unknown>, ddl: EngineDdl): Promise<void> {
  await sql`create table audit (
    seq ${sql.raw(ddl.numberKey)} not null primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    target text not null,
    correlation_id text,
    before text not null,
    after text not null,
    previous_hash text not null,
    hash text not null
  )`.execute(db);
  await ddl.forbid(db, 'update', 'audit', 'audit entries are appended, never changed');
  await ddl.forbid(db, 'delete', 'audit', 'audit entries are never removed');
  await sql`create table audit_head (
    id integer not null primary key check (id = 1),
    seq bigint not null,
    hash text not null
  )`.execute(db);
  await sql`insert into audit_head (id, seq, hash) values (1, 0, ${AUDIT_GENESIS})`.execute(db);
  await ddl.forbid(db, 'delete', 'audit_head', 'the head of the audit chain is never removed');
}
