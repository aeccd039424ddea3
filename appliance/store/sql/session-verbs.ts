// The methods of `session-store.ts`.

import type { Kysely } from 'kysely';
import type { SessionStore } from '../session-store.ts';
import { readFacts } from './facts.ts';
import type { Database } from './schema.ts';
import { readMediumBy, readUnendedMedia } from './session-media.ts';
import { readFilesTaken, readSessionBy, readSessionsOf } from './sessions.ts';

export const sessionVerbs = (db: Kysely<Database>): SessionStore => ({
  sessionByTicket: (hash) => readSessionBy(db, 'ticket_hash', hash),
  sessionByKey: (hash) => readSessionBy(db, 'key_hash', hash),
  sessionsOf: (machine, limit) => readSessionsOf(db, machine, limit),
  filesTaken: (session) => readFilesTaken(db, session),
  mediumOf: (machine) => readMediumBy(db, 'machine', machine),
  mediumByPath: (hash) => readMediumBy(db, 'path_hash', hash),
  unendedMedia: () => readUnendedMedia(db),
  factsOf: (machine) => readFacts(db, machine),
});
