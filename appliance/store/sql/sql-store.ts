// The store on any SQL engine: each method in the transaction that `store.ts` promises.

import type { Kysely } from 'kysely';
import type { Change, Committed, Publication } from '../change.ts';
import type { Publisher, Turn } from '../publisher.ts';
import type { InventoryWrites, Store } from '../store.ts';
import { accessVerbs } from './access-versions.ts';
import { agentLogVerbs } from './agent-logs.ts';
import { allocationVerbs } from './allocations.ts';
import { insertAudit, readAudit } from './audit.ts';
import { verifyChain } from './audit-verify.ts';
import { bmcVerbs } from './bmc.ts';
import { deleteCommandsBefore, readCommand } from './commands.ts';
import { WriteRefused, writeChange } from './commit.ts';
import { readEffects, readNextEffectDue, reclaimEffects, takeEffects } from './effects.ts';
import { enrollmentVerbs } from './enrollment.ts';
import { deleteEvents, insertEvents, readEvents } from './events.ts';
import { exportVerbs } from './exports.ts';
import { readChanges, readInventory, writeInventory } from './inventory.ts';
import { readLeases, upsertLeases } from './leases.ts';
import { readDueDeadlines, readMachine, readNextDeadline } from './machines.ts';
import { onboardingVerbs } from './onboardings.ts';
import { proposalVerbs } from './proposals.ts';
import { readQueues } from './queues.ts';
import { renderingVerbs } from './renderings.ts';
import { requestVerbs } from './requests.ts';
import type { Database } from './schema.ts';
import { sessionVerbs } from './session-verbs.ts';
import { taskVerbs } from './task-verbs.ts';
import { insertToken, readToken, readTokens, revokeToken } from './tokens.ts';
import { reading, type Writer, writing } from './transaction.ts';
import { webSessionVerbs } from './web-sessions.ts';

export function createSqlStore(db: Kysely<Database>, close: () => Promise<void>, publisher: Publisher): Store {
  return {
    inventory: () => reading(db, readInventory),
    changesSince: (revision) => reading(db, (trx) => readChanges(trx, revision)),
    machine: (id) => readMachine(db, id),
    writeInventory: (writes) => publishing(db, publisher, writingInventory(writes)),

    commit: (change) => committing(db, publisher, change),
    command: (id) => readCommand(db, id),
    subscribe: (subscriber) => publisher.subscribe(subscriber),
    dueDeadlines: (now, limit) => readDueDeadlines(db, now, limit),
    nextDeadline: () => readNextDeadline(db),

    takeEffects: (now, limit) => writing(db, (trx) => takeEffects(trx, now, limit)),
    reclaimEffects: () => writing(db, reclaimEffects),
    effects: (machine) => readEffects(db, machine),
    nextEffectDue: () => readNextEffectDue(db),
    queues: (now) => readQueues(db, now),

    commitLeases: (leases) => writing(db, (trx) => upsertLeases(trx, leases)),
    leases: (network) => readLeases(db, network),

    createToken: (token, secretHash, audit) => writing(db, (trx) => insertToken(trx, token, secretHash, audit)),
    token: (id) => readToken(db, id),
    tokens: () => readTokens(db),
    revokeToken: (id, now, audit) => writing(db, (trx) => revokeToken(trx, id, now, audit)),

    appendEvents: (events) => writing(db, async (trx) => void (await insertEvents(trx, events))),
    events: (query) => readEvents(db, query),
    trimEvents: (before, most) => writing(db, (trx) => deleteEvents(trx, before, most)),
    trimCommands: (before) => writing(db, (trx) => deleteCommandsBefore(trx, before)),

    appendAudit: (entries) => writing(db, (trx) => insertAudit(trx, entries)),
    auditEntries: (after, limit, newest, correlationId) => readAudit(db, after, limit, newest, correlationId),
    verifyAudit: () => verifyChain(db),

    ...bmcVerbs(db),
    ...enrollmentVerbs(db),
    ...sessionVerbs(db),
    ...taskVerbs(db),
    ...renderingVerbs(db),
    ...requestVerbs(db),
    ...exportVerbs(db),
    ...onboardingVerbs(db),
    ...accessVerbs(db),
    ...agentLogVerbs(db),
    ...allocationVerbs(db),
    ...webSessionVerbs(db),
    ...proposalVerbs(db),

    close,
  };
}

interface Published<T> {
  readonly result: T;
  /** Null: there is nothing to publish. */
  readonly publication: Publication | null;
}

/** The turn is taken while the write lock is held, so that turns are in commit order. */
async function publishing<T>(
  db: Kysely<Database>,
  publisher: Publisher,
  work: (trx: Writer) => Promise<Published<T>>,
): Promise<T> {
  let turn: Turn | null = null;
  let publication: Publication | null = null;
  try {
    const written = await writing(db, (trx) => {
      turn = publisher.turn();
      return work(trx);
    });
    publication = written.publication;
    return written.result;
  } finally {
    await (turn as Turn | null)?.publish(publication);
  }
}

async function committing(db: Kysely<Database>, publisher: Publisher, change: Change): Promise<Committed> {
  try {
    return await publishing<Committed>(db, publisher, async (trx) => {
      const result = await writeChange(trx, change);
      if (result.outcome === 'repeated') return { result, publication: null };
      const { machine, events } = result;
      return { result, publication: { change, machine, revision: machine.revision, events } };
    });
  } catch (error) {
    if (!(error instanceof WriteRefused)) throw error;
    return { outcome: 'refused', write: error.write, reason: error.message };
  }
}

const writingInventory = (writes: InventoryWrites) => async (trx: Writer) => {
  const { events, ...result } = await writeInventory(trx, writes);
  return { result, publication: { change: null, machine: null, revision: result.revision, events } };
};
