import { sql } from 'kysely';
import type { Migration } from './migration.ts';

/** `open_host` and `open_bmc` are set while the run is open: one open run for each host, and for each BMC. */
export const onboardingTable: Migration = {
  number: 14,
  name: 'onboardings',
  async up(db) {
    await sql`create table onboardings (
      id text not null primary key,
      seq bigint not null unique,
      site text not null,
      hostname text not null,
      machine text,
      state text not null,
      created_at bigint not null,
      open_host text unique,
      open_bmc text unique,
      version bigint not null,
      record text not null
    )`.execute(db);
    await sql`create index onboardings_by_site on onboardings (site, state)`.execute(db);
  },
};
