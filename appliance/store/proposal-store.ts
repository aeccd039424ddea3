// Stored proposals, also those that are over.

import type { NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Proposal, ProposalId, ProposalState } from '../domain/proposal.ts';

export interface ProposalQuery {
  readonly states?: readonly ProposalState[];
  readonly subject?: string;
  readonly limit: number;
}

/** Each method is one transaction, as `store.ts` promises. */
export interface ProposalStore {
  /**
   * Returns the open proposal with the same key if there is one, and writes nothing. `conflict` when its proposer has `mostOpen` open
   * proposals.
   */
  createProposal(
    proposal: Proposal,
    events: readonly NewEvent[],
    audit: readonly NewAuditEntry[],
    mostOpen: number,
  ): Promise<Proposal>;
  /** `proposal.version` is one more than that of the record it was made from: otherwise `version_conflict`, and nothing is written. */
  updateProposal(proposal: Proposal, events: readonly NewEvent[], audit: readonly NewAuditEntry[]): Promise<void>;
  proposal(id: ProposalId): Promise<Proposal | null>;
  /** The newest first. */
  proposals(query: ProposalQuery): Promise<Proposal[]>;
  /** Retention of proposals that are over; changes of SKUs are kept, because they can be rolled back. Returns how many were deleted. */
  trimProposals(before: Instant): Promise<number>;
}
