import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const hardwareIdentity: Migration = {
  number: 11,
  name: 'hardware-identity',
  async up(db) {
    await sql`alter table machines add column hardware text`.execute(db);
    await sql`alter table sessions add column identity text`.execute(db);
  },
};
