// Handlers of proposals.

import type { PROPOSAL_OPERATIONS } from '../../contract/operations/proposals.ts';
import type { OperationId } from '../../contract/operations.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { ColdironError } from '../../domain/errors.ts';
import { isOver, PROPOSAL_STATES } from '../../domain/proposal.ts';
import { mayActAs, type Role } from '../../domain/token.ts';
import { skuSubject } from '../../inventory/sku-approvals.ts';
import { rollbackOf, rollbackProposal } from '../../inventory/sku-rollback.ts';
import type { Call, Handlers } from '../handler.ts';
import { type Proposer, planOperation } from '../propose.ts';
import { proposalView } from '../views/proposal.ts';

const proposerOf = ({ origin, role }: Pick<Call<OperationId>, 'origin' | 'role'>): Proposer => ({
  actor: origin.actor,
  principal: origin.actor,
  role: role ?? 'viewer',
  byAgent: role === 'agent',
  correlationId: origin.correlationId,
});

const approverOf = ({ origin, role }: Pick<Call<OperationId>, 'origin' | 'role'>) => ({
  approver: { actor: origin.actor, role: role ?? 'viewer' },
  correlationId: origin.correlationId,
});

/** Who could not do it directly cannot propose it; agents exist to propose. */
export function requireProposer(operation: OperationId, role: Role): void {
  const { access } = OPERATIONS[operation];
  if (role === 'agent' || (access !== 'public' && mayActAs(role, access))) return;
  throw new ColdironError('forbidden', `to propose this needs the role agent or ${access}; yours is ${role}`);
}

export const proposalHandlers: Handlers<keyof typeof PROPOSAL_OPERATIONS> = {
  async listProposals({ proposals }, { query: { state, open = false, limit = 50 } }) {
    const states = PROPOSAL_STATES.filter((each) => (state ?? each) === each && !(open && isOver(each)));
    return { proposals: (await proposals.list({ states, limit })).map(proposalView) };
  },

  getProposal: async ({ proposals }, { params }) => proposalView(await proposals.find(params.proposal)),

  async proposeOperation(deps, call) {
    const { operation, node, body = {} } = call.body;
    requireProposer(operation, call.role ?? 'viewer');
    return proposalView(
      await deps.proposals.propose(await planOperation(deps, operation, { node, body }, proposerOf(call))),
    );
  },

  approveProposal: async ({ proposals }, call) => {
    const { hash, note = null } = call.body;
    return proposalView(await proposals.approve(call.params.proposal, approverOf(call), hash, note));
  },

  rejectProposal: async ({ proposals }, call) =>
    proposalView(await proposals.reject(call.params.proposal, approverOf(call), call.body.reason)),

  async rollBackSku({ proposals, store }, call) {
    const { sku } = call.params;
    const change = rollbackOf(await store.inventory(), sku, await proposals.last(skuSubject(sku)));
    const { actor, ...proposer } = proposerOf(call);
    return proposalView(await proposals.propose(rollbackProposal(change, { ...proposer, proposedBy: actor })));
  },
};
