import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const sessionNonces: Migration = {
  number: 7,
  name: 'session-nonces',
  async up(db) {
    // Who opened a session: an answer that got lost is given again to the same opener.
    await sql`alter table sessions add column nonce_hash text`.execute(db);
  },
};
