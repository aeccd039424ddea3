// A proposal as the API shows it.

import type { Static } from 'typebox';
import type { Proposal as ProposalSchema } from '../../contract/schemas/proposal.ts';
import { instantText } from '../../domain/instant.ts';
import type { Proposal } from '../../domain/proposal.ts';

export type ProposalView = Static<typeof ProposalSchema.schema>;

export const proposalView = (proposal: Proposal): ProposalView => ({
  id: proposal.id,
  state: proposal.state,
  since: instantText(proposal.since),
  operation: proposal.operation,
  params: proposal.params,
  body: proposal.body,
  expects: proposal.expects,
  subject: proposal.subject,
  what: proposal.what,
  impact: [...proposal.impact],
  hash: proposal.hash,
  proposed_by: proposal.proposedBy,
  by_agent: proposal.byAgent,
  proposed_at: instantText(proposal.proposedAt),
  expires_at: instantText(proposal.expiresAt),
  approvals_needed: proposal.needs.approvals,
  approver_role: proposal.needs.role,
  different_roles: proposal.needs.differentRoles,
  approvals: proposal.approvals.map(({ by, role, at, note }) => ({ by, role, at: instantText(at), note })),
  carried_out_by: proposal.carriedOutBy,
  reason: proposal.reason,
  result: proposal.result,
  next_step: nextStepOf(proposal),
});

function nextStepOf({ id, state, needs, approvals, carriedOutBy, byAgent }: Proposal): string {
  switch (state) {
    case 'proposed': {
      const missing = needs.approvals - approvals.length;
      const who = byAgent ? 'a person, not the agent,' : 'another person';
      const roles = needs.differentRoles ? ', each with another role' : '';
      const people = missing === 1 ? `${who} with the role ${needs.role}` : `${missing} people${roles}`;
      return `${people} can approve it: coldiron proposals approve ${id}`;
    }
    case 'approved':
      return carriedOutBy === 'apply' ? 'apply the same files again' : 'the appliance carries it out';
    case 'carried-out':
      return 'nothing: it was carried out';
    case 'rejected':
    case 'expired':
    case 'failed':
      return 'nothing: it is over; make a new proposal if it is still needed';
  }
}
