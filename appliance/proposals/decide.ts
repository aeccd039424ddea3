// Who may approve a proposal, and what each step writes. Pure: the record, its event and its audit entry come from here.

import { ColdironError } from '../domain/errors.ts';
import { type Json, type NewAuditEntry, type NewEvent, newEvent } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import { type Approval, type Approver, isAgent, isOver, type Proposal } from '../domain/proposal.ts';
import { mayActAs } from '../domain/token.ts';

export interface ProposalChange {
  readonly proposal: Proposal;
  readonly events: readonly NewEvent[];
  readonly audit: readonly NewAuditEntry[];
}

interface By {
  readonly actor: string;
  readonly at: Instant;
  readonly correlationId: string | null;
}

const which = ({ id, subject, what }: Proposal) => ({ proposal: id, subject, what });

export function made(proposal: Proposal): ProposalChange {
  const { proposedBy: actor, proposedAt: at, correlationId, hash, impact, needs } = proposal;
  const data = { ...which(proposal), hash, impact: [...impact], approvals_needed: needs.approvals };
  const event = newEvent({ at, actor, machine: null, correlationId }, 'proposal.made', data);
  return { proposal, events: [event], audit: [entry(proposal, 'proposal.made', { actor, at, correlationId }, data)] };
}

/** Throws why this person may not approve it now. */
export function approved(
  proposal: Proposal,
  approver: Approver,
  { hash, note, ...by }: Omit<By, 'actor'> & { readonly hash: string; readonly note: string | null },
): ProposalChange {
  const refusal = approvalProblem(proposal, approver, hash, by.at);
  if (refusal) throw refusal;
  const approval: Approval = { by: approver.actor, role: approver.role, at: by.at, note };
  const approvals = [...proposal.approvals, approval];
  const isArmed = approvals.length >= proposal.needs.approvals;
  const next = moved(proposal, { approvals, ...(isArmed && { state: 'approved', since: by.at }) });
  const data = {
    ...which(proposal),
    ...{ hash, role: approver.role, approvals: approvals.length, approvals_needed: proposal.needs.approvals, note },
  };
  return recorded(next, 'proposal.approved', { ...by, actor: approver.actor }, data);
}

function approvalProblem(proposal: Proposal, approver: Approver, hash: string, now: Instant): ColdironError | null {
  const { needs, approvals, role: proposersRole, byAgent } = proposal;
  const forbidden = (message: string) => new ColdironError('forbidden', message, [], 'Let another person approve it.');
  const over = overProblem(proposal, now);
  if (over) return over;
  if (proposal.state === 'approved') {
    return new ColdironError('conflict', `the proposal was approved by ${approversOf(proposal).join(', ')}`);
  }
  if (isAgent(approver)) return forbidden('an agent cannot approve a proposal: a person has to');
  if (!mayActAs(approver.role, needs.role)) {
    return forbidden(`an approval of this needs the role ${needs.role}; yours is ${approver.role}`);
  }
  // With two approvals, one of them may be the proposer's: another person with another role has agreed all the same.
  if (approver.actor === proposal.principal && (byAgent || needs.approvals < 2)) {
    return forbidden(`${approver.actor} made this proposal: it needs the approval of another person`);
  }
  if (byAgent && mayActAs(proposersRole, approver.role)) {
    return forbidden(`the agent that proposed this has the role ${proposersRole}: the approver needs a higher one`);
  }
  if (approvals.some(({ by }) => by === approver.actor)) {
    return new ColdironError('conflict', `${approver.actor} has approved this; it needs another person too`);
  }
  const same = needs.differentRoles ? approvals.find(({ role }) => role === approver.role) : undefined;
  if (same) {
    return forbidden(`${same.by} has approved this as ${same.role}: the other approval needs another role`);
  }
  if (hash !== proposal.hash) {
    const message = `hash: the hash of this proposal is ${proposal.hash}; read it again, and approve what it says`;
    return new ColdironError('conflict', message);
  }
  return null;
}

export function rejected(
  proposal: Proposal,
  { actor, role }: Approver,
  { reason, ...by }: Omit<By, 'actor'> & { readonly reason: string },
): ProposalChange {
  const over = overProblem(proposal, by.at);
  if (over) throw over;
  if (!mayActAs(role, proposal.needs.role)) {
    throw new ColdironError('forbidden', `to reject this needs the role ${proposal.needs.role}; yours is ${role}`);
  }
  return ended(proposal, 'rejected', reason, { ...by, actor });
}

export function ended(
  proposal: Proposal,
  state: 'rejected' | 'expired' | 'failed',
  reason: string | null,
  by: By,
): ProposalChange {
  const next = moved(proposal, { state, since: by.at, reason });
  return recorded(next, 'proposal.ended', by, { ...which(proposal), state, reason });
}

export function carriedOut(proposal: Proposal, result: Json, by: By): ProposalChange {
  const next = moved(proposal, { state: 'carried-out', since: by.at, result });
  const data = { ...which(proposal), proposed_by: proposal.proposedBy, approved_by: approversOf(proposal) };
  return recorded(next, 'proposal.carried_out', by, data);
}

export const approversOf = ({ approvals }: Proposal): string[] => approvals.map(({ by }) => by);

/** It waits for approvals, or for an apply, and its time is over. */
export const isExpired = (proposal: Proposal, now: Instant): boolean =>
  now >= proposal.expiresAt &&
  (proposal.state === 'proposed' || (proposal.state === 'approved' && proposal.carriedOutBy === 'apply'));

function overProblem(proposal: Proposal, now: Instant): ColdironError | null {
  const { state, reason, since, expiresAt } = proposal;
  if (isOver(state)) {
    const why = reason === null ? '' : `: ${reason}`;
    return new ColdironError('conflict', `the proposal is ${state} since ${instantText(since)}${why}`);
  }
  if (!isExpired(proposal, now)) return null;
  return new ColdironError('conflict', `the proposal has expired at ${instantText(expiresAt)}; it must be made again`);
}

const moved = (proposal: Proposal, changes: Partial<Proposal>): Proposal => ({
  ...proposal,
  ...changes,
  version: proposal.version + 1,
});

function recorded(
  proposal: Proposal,
  kind: 'proposal.approved' | 'proposal.ended' | 'proposal.carried_out',
  by: By,
  data: Parameters<typeof newEvent<typeof kind>>[2],
): ProposalChange {
  const { actor, at, correlationId } = by;
  const event = newEvent({ at, actor, machine: null, correlationId }, kind, data);
  return { proposal, events: [event], audit: [entry(proposal, kind, by, data as Json)] };
}

const entry = (proposal: Proposal, action: string, { actor, at, correlationId }: By, after: Json): NewAuditEntry => ({
  ...{ at, actor, correlationId, action, before: null, after },
  target: `proposal:${proposal.id}`,
});
