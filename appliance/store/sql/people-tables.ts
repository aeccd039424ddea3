// The tables of people and agents who use the appliance: sessions of the web page, proposals, and logs of node agents. See schema.ts.

import type { Instant } from '../../domain/instant.ts';
import type { ProposalState } from '../../domain/proposal.ts';
import type { Role } from '../../domain/token.ts';

export interface AgentLogTable {
  machine: string;
  stream: string;
  number: number;
  at: Instant;
  received_at: Instant;
  action: string;
  error_class: string | null;
  message: string;
}

export interface WebSessionTable {
  id: string;
  secret_hash: string;
  token: string | null;
  actor: string;
  role: Role;
  created_at: Instant;
  used_at: Instant;
  expires_at: Instant;
}

export interface ProposalTable {
  id: string;
  /** Order of creation. */
  seq: number;
  state: ProposalState;
  subject: string;
  proposed_by: string;
  ended_at: Instant | null;
  /** The key of the proposal while it is open. */
  open_key: string | null;
  version: number;
  /** The `Proposal` as JSON. */
  record: string;
}
