import { type Kysely, sql } from 'kysely';
import type { Migration } from './migration.ts';

export const bmcTables: Migration = {
  number: 2,
  name: 'bmcs',
  async up(db) {
    await createCredentials(db);
    await createMemories(db);
  },
};

async function createCredentials(db: Kysely<unknown>): Promise<void> {
  await sql`create table bmc_credentials (
    machine text not null references machines (id),
    slot text not null check (slot in ('current', 'pending')),
    username text not null,
    password text not null,
    key text,
    set_at bigint not null,
    primary key (machine, slot)
  )`.execute(db);
}

/** Places are keyed by address and quirks by BMC model: both are kept after the machine is removed. */
async function createMemories(db: Kysely<unknown>): Promise<void> {
  await sql`create table bmc_places (
    address text not null primary key,
    certificate text,
    suite bigint
  )`.execute(db);
  await sql`create table bmc_quirks (
    vendor text not null,
    product text not null,
    firmware text not null,
    method text not null,
    worked bigint not null,
    ignored bigint not null,
    last_at bigint not null,
    primary key (vendor, product, firmware, method)
  )`.execute(db);
  await sql`create table boot_times (
    machine text not null primary key references machines (id),
    took text not null
  )`.execute(db);
}
