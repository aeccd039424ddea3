// The verbs of `session-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import type { SessionStore } from '../session-store.ts';
import { readFacts, writeFacts } from './facts.ts';
import type { Database } from './schema.ts';
import {
  endSession,
  endSessionsOf,
  openSession,
  readSessionBy,
  readSessionsOf,
  reopenSession,
  takeFile,
  writeStep,
  writeTicket,
} from './sessions.ts';
import { writing } from './transaction.ts';

export const sessionVerbs = (db: Kysely<Database>): SessionStore => ({
  putTicket: (ticket) => writing(db, (trx) => writeTicket(trx, ticket)),
  sessionByTicket: (hash) => readSessionBy(db, 'ticket_hash', hash),
  sessionByKey: (hash) => readSessionBy(db, 'key_hash', hash),
  sessionsOf: (machine, limit) => readSessionsOf(db, machine, limit),
  openSession: (opening) => writing(db, (trx) => openSession(trx, opening)),
  reopenSession: (reopening) => writing(db, (trx) => reopenSession(trx, reopening)),
  reportStep: (report) => writing(db, (trx) => writeStep(trx, report)),
  endSession: (id, how, now, reason, event) => writing(db, (trx) => endSession(trx, id, { how, now, reason }, event)),
  endSessionsOf: (machine, how, now, reason) => writing(db, (trx) => endSessionsOf(trx, machine, { how, now, reason })),
  takeSessionFile: (id, name, now, audit) => writing(db, (trx) => takeFile(trx, id, name, now, audit)),
  putFacts: (machine, facts, event) => writing(db, (trx) => writeFacts(trx, machine, facts, event)),
  factsOf: (machine) => readFacts(db, machine),
});
