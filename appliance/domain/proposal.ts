// A proposal: a change that waits for the approval of people. What they approve is a hash of the change and of what it affects, so that
// nothing else can be carried out in its place.

import type { Actor, Json } from './event.ts';
import type { Instant } from './instant.ts';
import type { Branded } from './parsed.ts';
import type { Role } from './token.ts';

export type ProposalId = Branded<string, 'ProposalId'>;

export const PROPOSAL_STATES = ['proposed', 'approved', 'carried-out', 'rejected', 'expired', 'failed'] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

/** Nobody can approve it or carry it out any more. */
export const isOver = (state: ProposalState): boolean => state !== 'proposed' && state !== 'approved';

/**
 * Who carries it out once it is approved.
 *   appliance   the appliance, at once: an operation of the table
 *   apply       the next apply that makes exactly this change: files own what they declare
 */
export type CarriedOutBy = 'appliance' | 'apply';

export interface Approval {
  readonly by: Actor;
  readonly role: Role;
  readonly at: Instant;
  readonly note: string | null;
}

export interface Needs {
  readonly approvals: number;
  /** Each approver has at least this role. */
  readonly role: Role;
  readonly differentRoles: boolean;
}

export interface Proposal {
  readonly id: ProposalId;
  readonly version: number;
  readonly carriedOutBy: CarriedOutBy;
  /** A row of the operation table, with what a direct call would send. */
  readonly operation: string;
  readonly params: Json;
  readonly body: Json;
  /** The version of the node that the plan was made for; null: the operation has none. */
  readonly expects: number | null;
  /** What it changes: `node:node05`, `sku:worker-1u`. */
  readonly subject: string;
  readonly what: string;
  /** One line for each thing that the change affects. */
  readonly impact: readonly string[];
  /** Two open proposals of the same change are one. */
  readonly key: string;
  readonly hash: string;
  /** As the audit log names it: `agent:night-watch`. */
  readonly proposedBy: Actor;
  /** Who is behind the agent: the token or the local user. It never approves its own proposal. */
  readonly principal: Actor;
  readonly role: Role;
  readonly byAgent: boolean;
  readonly correlationId: string | null;
  readonly proposedAt: Instant;
  readonly expiresAt: Instant;
  readonly needs: Needs;
  readonly approvals: readonly Approval[];
  readonly state: ProposalState;
  readonly since: Instant;
  /** Why it was rejected, has expired or has failed. */
  readonly reason: string | null;
  /** The answer of the operation. */
  readonly result: Json;
}

export interface Approver {
  readonly actor: Actor;
  readonly role: Role;
}

/** Software that acts for somebody. */
export const isAgent = ({ actor, role }: Approver): boolean => role === 'agent' || actor.startsWith('agent:');
