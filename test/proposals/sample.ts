// A proposal of an agent, for tests.

import { HOUR } from '../../appliance/domain/instant.ts';
import type { Proposal } from '../../appliance/domain/proposal.ts';
import { type NewProposal, newProposal } from '../../appliance/proposals/new-proposal.ts';

export const PROPOSED: NewProposal = {
  carriedOutBy: 'appliance',
  operation: 'retireNode',
  params: { node: '00000000-0000-4000-8000-000000000001' },
  body: {},
  expects: 3,
  subject: 'node:node01',
  what: 'Take a node out of use (node01)',
  impact: ['node node01: ready'],
  proposedBy: 'agent:night-watch',
  principal: 'agent:night-watch',
  role: 'agent',
  byAgent: true,
  correlationId: 'c-1',
  proposedAt: 1000,
  expiresAt: 1000 + HOUR,
  needs: { approvals: 1, role: 'operator', differentRoles: false },
};

export const aProposal = (n: number, changes: Partial<NewProposal> = {}): Proposal =>
  newProposal(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`, { ...PROPOSED, ...changes });
