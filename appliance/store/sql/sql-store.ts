// The store on any SQL engine: each verb in the transaction that `store.ts` promises.

import type { Kysely } from 'kysely';
import type { Store } from '../store.ts';
import { insertAudit, readAudit } from './audit.ts';
import { verifyChain } from './audit-verify.ts';
import { bmcVerbs } from './bmc.ts';
import {
  failEffect,
  finishEffect,
  readEffects,
  readNextEffectDue,
  reclaimEffects,
  retryEffect,
  takeEffects,
} from './effects.ts';
import { enrollmentVerbs } from './enrollment.ts';
import { deleteEventsBefore, insertEvents, readEvents } from './events.ts';
import { armIntent, consumeIntent, revokeIntents } from './intents.ts';
import { readChanges, readInventory, writeInventory } from './inventory.ts';
import { readLeases, upsertLeases } from './leases.ts';
import { readDueDeadlines, readMachine, readNextDeadline, writeHealth } from './machines.ts';
import { renderingVerbs } from './renderings.ts';
import { requestVerbs } from './requests.ts';
import type { Database } from './schema.ts';
import { sessionVerbs } from './session-verbs.ts';
import { taskVerbs } from './task-verbs.ts';
import { insertToken, readToken, readTokens, revokeToken } from './tokens.ts';
import { reading, writing } from './transaction.ts';
import { writeTransition } from './transition.ts';

export function createSqlStore(db: Kysely<Database>, close: () => Promise<void>): Store {
  return {
    inventory: () => reading(db, readInventory),
    changesSince: (revision) => reading(db, (trx) => readChanges(trx, revision)),
    machine: (id) => readMachine(db, id),
    writeInventory: (writes) => writing(db, (trx) => writeInventory(trx, writes)),

    transition: (transition) => writing(db, (trx) => writeTransition(trx, transition)),
    setHealth: (id, health, event) => writing(db, (trx) => writeHealth(trx, id, health, event)),
    dueDeadlines: (now, limit) => readDueDeadlines(db, now, limit),
    nextDeadline: () => readNextDeadline(db),

    takeEffects: (now, limit) => writing(db, (trx) => takeEffects(trx, now, limit)),
    finishEffect: (id, events) => writing(db, (trx) => finishEffect(trx, id, events)),
    retryEffect: (id, notBefore, error) => writing(db, (trx) => retryEffect(trx, id, notBefore, error)),
    failEffect: (id, error, events) => writing(db, (trx) => failEffect(trx, id, error, events)),
    reclaimEffects: () => writing(db, reclaimEffects),
    effects: (machine) => readEffects(db, machine),
    nextEffectDue: () => readNextEffectDue(db),

    armIntent: (intent, event, audit) => writing(db, (trx) => armIntent(trx, intent, event, audit)),
    consumeIntent: (id, now, event, ticket = null) =>
      writing(db, (trx) => consumeIntent(trx, { id, now, ticket }, event)),
    revokeIntents: (machine, now, event) => writing(db, (trx) => revokeIntents(trx, machine, now, event)),

    commitLeases: (leases) => writing(db, (trx) => upsertLeases(trx, leases)),
    leases: (network) => readLeases(db, network),

    createToken: (token, secretHash, audit) => writing(db, (trx) => insertToken(trx, token, secretHash, audit)),
    token: (id) => readToken(db, id),
    tokens: () => readTokens(db),
    revokeToken: (id, now, audit) => writing(db, (trx) => revokeToken(trx, id, now, audit)),

    appendEvents: (events) => writing(db, (trx) => insertEvents(trx, events)),
    events: (query) => readEvents(db, query),
    trimEvents: (before) => writing(db, (trx) => deleteEventsBefore(trx, before)),

    appendAudit: (entries) => writing(db, (trx) => insertAudit(trx, entries)),
    auditEntries: (after, limit, newest) => readAudit(db, after, limit, newest),
    verifyAudit: () => verifyChain(db),

    ...bmcVerbs(db),
    ...enrollmentVerbs(db),
    ...sessionVerbs(db),
    ...taskVerbs(db),
    ...renderingVerbs(db),
    ...requestVerbs(db),

    close,
  };
}
