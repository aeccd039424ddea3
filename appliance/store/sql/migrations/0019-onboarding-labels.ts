import { sql } from 'kysely';
import type { Migration } from './migration.ts';

/** Which run an event belongs to. The index finds the open run of a machine for each event that is written. */
export const onboardingLabels: Migration = {
  number: 19,
  name: 'onboarding-labels',
  async up(db) {
    await sql`alter table events add column onboarding_id text`.execute(db);
    await sql`alter table onboardings add column correlation_id text`.execute(db);
    await sql`update onboardings set correlation_id = json_extract(record, '$.correlationId')`.execute(db);
    await sql`create index onboardings_by_machine on onboardings (machine) where open_host is not null`.execute(db);
  },
};
