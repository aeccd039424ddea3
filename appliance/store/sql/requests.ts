// The methods of `request-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { KeptRequest, RequestClaim, RequestStore } from '../request-store.ts';
import type { Database, RequestTable } from './schema.ts';
import { type Writer, writing } from './transaction.ts';

export const requestVerbs = (db: Kysely<Database>): RequestStore => ({
  claimRequest: (claim, expiredBefore) => writing(db, (trx) => claimRequest(trx, claim, expiredBefore)),
  takeOverRequest: (id, from, { holder, at }) =>
    writing(db, async (trx) => {
      const { numUpdatedRows } = await unfinished(trx, id, from)
        .set({ holder, claimed_at: at })
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    }),
  finishRequest: (id, holder, at, outcome) =>
    writing(db, async (trx) => {
      await unfinished(trx, id, holder)
        .set({ finished_at: at, outcome: JSON.stringify(outcome) })
        .execute();
    }),
  releaseRequest: (id, holder) =>
    writing(db, async (trx) => {
      await trx
        .deleteFrom('requests')
        .where('id', '=', id)
        .where('holder', '=', holder)
        .where('finished_at', 'is', null)
        .execute();
    }),
  trimRequests: (before) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('requests')
        .where('claimed_at', '<', before)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    }),
});

const unfinished = (trx: Writer, id: string, holder: string) =>
  trx.updateTable('requests').where('id', '=', id).where('holder', '=', holder).where('finished_at', 'is', null);

async function claimRequest(trx: Writer, claim: RequestClaim, expiredBefore: Instant): Promise<KeptRequest | null> {
  const { id, fingerprint, operation, holder, at } = claim;
  await trx.deleteFrom('requests').where('id', '=', id).where('claimed_at', '<', expiredBefore).execute();
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('requests')
    .values({ id, fingerprint, operation, holder, claimed_at: at, finished_at: null, outcome: null })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) return null;
  return keptRequest(await trx.selectFrom('requests').selectAll().where('id', '=', id).executeTakeFirstOrThrow());
}

const keptRequest = (row: RequestTable): KeptRequest => ({
  id: row.id,
  fingerprint: row.fingerprint,
  operation: row.operation,
  holder: row.holder,
  at: row.claimed_at,
  finished:
    row.finished_at === null || row.outcome === null ? null : { at: row.finished_at, outcome: JSON.parse(row.outcome) },
});
