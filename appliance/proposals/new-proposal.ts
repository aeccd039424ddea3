// Makes the record of a new proposal, with the hash that people approve. Pure.

import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../domain/event.ts';
import type { Proposal, ProposalId } from '../domain/proposal.ts';

export type NewProposal = Omit<
  Proposal,
  'id' | 'version' | 'key' | 'hash' | 'approvals' | 'state' | 'since' | 'reason' | 'result'
>;

export const digestOf = (value: Json): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

/** Two proposals with the same key are about the same change; the state of what they affect may differ. */
export const keyOf = ({ operation, params, body, expects, principal, carriedOutBy }: NewProposal): string =>
  digestOf({ operation, params, body, expects, principal: carriedOutBy === 'apply' ? null : principal });

export function newProposal(id: string, proposed: NewProposal): Proposal {
  const { operation, params, body, expects, subject, what, impact, needs, proposedBy } = proposed;
  const { approvals, role, differentRoles } = needs;
  const approvable = { id, operation, params, body, expects, subject, what, impact, proposedBy };
  return {
    ...proposed,
    id: id as ProposalId,
    version: 1,
    key: keyOf(proposed),
    hash: digestOf({ ...approvable, needs: { approvals, role, differentRoles } }),
    approvals: [],
    // Nothing to wait for.
    state: approvals === 0 ? 'approved' : 'proposed',
    since: proposed.proposedAt,
    reason: null,
    result: null,
  };
}
