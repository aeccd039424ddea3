import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const sessionNonces: Migration = {
  number: 7,
  name: 'session-nonces',
  async up(db) {
    // Identifies the client that opened a session, so that a lost reply can be repeated to it.
    await sql`alter table sessions add column nonce_hash text`.execute(db);
  },
};
