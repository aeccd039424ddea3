import { type Kysely, sql } from 'kysely';
import type { Migration } from './migration.ts';

export const enrollmentTables: Migration = {
  number: 3,
  name: 'enrollment',
  async up(db) {
    await createAuthorities(db);
    await createEnrollmentTokens(db);
    await createSigningKeys(db);
  },
};

async function createAuthorities(db: Kysely<unknown>): Promise<void> {
  await sql`create table authorities (
    id text not null primary key,
    state text not null check (state in ('staged', 'active', 'outgoing', 'retired')),
    certificate text not null,
    cross_certificate text,
    created_at bigint not null,
    not_after bigint not null,
    activated_at bigint,
    retired_at bigint
  )`.execute(db);
  // The engine enforces at most one authority in each state.
  await sql`create unique index authorities_by_state on authorities (state) where state <> 'retired'`.execute(db);
  await sql`create table certificates (
    serial text not null primary key,
    fingerprint text not null unique,
    authority text not null references authorities (id),
    kind text not null,
    machine text references machines (id),
    not_before bigint not null,
    not_after bigint not null,
    confirmed_at bigint,
    revoked_at bigint,
    revoked_because text,
    replaced_by text
  )`.execute(db);
  await sql`create index certificates_by_machine on certificates (machine, kind)`.execute(db);
  await sql`create index certificates_held on certificates (not_after)
    where revoked_at is null and replaced_by is null`.execute(db);
}

async function createEnrollmentTokens(db: Kysely<unknown>): Promise<void> {
  await sql`create table enrollment_tokens (
    id text not null primary key,
    machine text not null references machines (id),
    kind text not null,
    delivery text not null,
    actor text not null,
    created_at bigint not null,
    expires_at bigint not null,
    certificate text references certificates (serial),
    consumed_at bigint,
    revoked_at bigint,
    secret_hash text not null
  )`.execute(db);
  await sql`create index enrollment_tokens_by_machine on enrollment_tokens (machine)`.execute(db);
  await sql`create unique index enrollment_tokens_open on enrollment_tokens (machine)
    where kind = 'enrollment' and consumed_at is null and revoked_at is null`.execute(db);
}

async function createSigningKeys(db: Kysely<unknown>): Promise<void> {
  await sql`create table signing_keys (
    id text not null primary key,
    state text not null check (state in ('staged', 'active', 'grace', 'retired')),
    public_key text not null,
    created_at bigint not null,
    activated_at bigint,
    grace_until bigint
  )`.execute(db);
  await sql`create unique index signing_keys_by_state on signing_keys (state)
    where state in ('staged', 'active')`.execute(db);
}
