// The methods of `proposal-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import { isOver, type Proposal } from '../../domain/proposal.ts';
import type { ProposalQuery, ProposalStore } from '../proposal-store.ts';
import { insertAudit } from './audit.ts';
import { insertEvents } from './events.ts';
import type { Database } from './schema.ts';
import { type Reader, type Writer, writing } from './transaction.ts';

export const proposalVerbs = (db: Kysely<Database>): ProposalStore => ({
  createProposal: (proposal, events, audit, mostOpen) =>
    writing(db, async (trx) => {
      const open = await selectRecords(trx).where('open_key', '=', proposal.key).executeTakeFirst();
      if (open) return toProposal(open);
      await refuseTooMany(trx, proposal.proposedBy, mostOpen);
      await insertProposal(trx, proposal);
      await insertEvents(trx, events);
      await insertAudit(trx, audit);
      return proposal;
    }),
  updateProposal: (proposal, events, audit) =>
    writing(db, async (trx) => {
      await replaceProposal(trx, proposal);
      await insertEvents(trx, events);
      await insertAudit(trx, audit);
    }),
  proposal: async (id) => {
    const row = await selectRecords(db).where('id', '=', id).executeTakeFirst();
    return row ? toProposal(row) : null;
  },
  proposals: (query) => readProposals(db, query),
  trimProposals: (before) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('proposals')
        .where('ended_at', '<', before)
        .where('subject', 'not like', 'sku:%')
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    }),
});

const selectRecords = (db: Reader) => db.selectFrom('proposals').select('record');

const columns = (proposal: Proposal) => ({
  state: proposal.state,
  subject: proposal.subject,
  proposed_by: proposal.proposedBy,
  ended_at: isOver(proposal.state) ? proposal.since : null,
  open_key: isOver(proposal.state) ? null : proposal.key,
  version: proposal.version,
  record: JSON.stringify(proposal),
});

async function insertProposal(trx: Writer, proposal: Proposal): Promise<void> {
  const { last } = await trx
    .selectFrom('proposals')
    .select((eb) => eb.fn.coalesce(eb.fn.max('seq'), eb.lit(0)).as('last'))
    .executeTakeFirstOrThrow();
  await trx
    .insertInto('proposals')
    .values({ id: proposal.id, seq: Number(last) + 1, ...columns(proposal) })
    .execute();
}

async function refuseTooMany(trx: Writer, proposedBy: string, mostOpen: number): Promise<void> {
  const { count } = await trx
    .selectFrom('proposals')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('proposed_by', '=', proposedBy)
    .where('open_key', 'is not', null)
    .executeTakeFirstOrThrow();
  if (Number(count) < mostOpen) return;
  throw new ColdironError('conflict', `${proposedBy} has ${mostOpen} open proposals, which is the limit`);
}

export async function replaceProposal(trx: Writer, proposal: Proposal): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('proposals')
    .set(columns(proposal))
    .where('id', '=', proposal.id)
    .where('version', '=', proposal.version - 1)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw new ColdironError('version_conflict', `the proposal ${proposal.id} has changed`);
}

async function readProposals(db: Reader, { states, subject, limit }: ProposalQuery): Promise<Proposal[]> {
  let query = selectRecords(db).orderBy('seq', 'desc').limit(limit);
  if (states !== undefined) query = query.where('state', 'in', [...states]);
  if (subject !== undefined) query = query.where('subject', '=', subject);
  return (await query.execute()).map(toProposal);
}

/** Cast, not validated: the record was written from this type. */
const toProposal = ({ record }: { readonly record: string }): Proposal => JSON.parse(record) as Proposal;
