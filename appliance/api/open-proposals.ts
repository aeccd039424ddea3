// Proposals with the operations of this API behind them.

import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import { PROPOSABLE } from '../contract/proposable.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Json } from '../domain/event.ts';
import type { Proposal } from '../domain/proposal.ts';
import { rollBackSku } from '../inventory/sku-rollback.ts';
import { approversOf } from '../proposals/decide.ts';
import { Proposals } from '../proposals/proposals.ts';
import type { ManagementDeps } from './deps.ts';
import type { HandlerDeps } from './handler.ts';
import { perform } from './perform.ts';
import { etagOf } from './preconditions.ts';
import { checkPlan } from './propose.ts';

export function openProposals(base: Omit<ManagementDeps, 'proposals' | 'authenticate'>): Proposals {
  const { store, clock, newId, logger } = base;
  const proposals = new Proposals({
    store,
    newId,
    log: logger,
    now: () => clock.now(),
    checkPlan: (proposal) => checkPlan(base, proposal),
    carryOut: (proposal) => carryOutProposal(deps(), proposal),
  });
  const deps = (): HandlerDeps => ({ ...base, proposals, ...NO_ROUTES });
  return proposals;
}

/** An approved operation does not come through a route. */
const NO_ROUTES: Pick<HandlerDeps, 'authenticate' | 'describe'> = {
  authenticate: () => Promise.reject(new ColdironError('internal', 'nobody is authenticated here')),
  describe: () => ({}),
};

const LONGEST_NOTE = 500;

/** As a direct call by the proposer, with the approvers in its note. */
async function carryOutProposal(deps: HandlerDeps, proposal: Proposal): Promise<Json> {
  const { operation, params, body, proposedBy, approvals, role, expects, correlationId, id } = proposal;
  if (operation === 'rollBackSku') {
    await rollBackSku(deps.store, proposal, { now: () => deps.clock.now(), newId: deps.newId });
    return null;
  }
  if (!Object.hasOwn(PROPOSABLE, operation)) throw new ColdironError('conflict', `${operation} cannot be carried out`);
  const { write } = OPERATIONS[operation as OperationId];
  const given = body as { readonly note?: string };
  const approval = `proposal ${id}, approved by ${approversOf(proposal).join(', ')}`;
  const note = [given.note, approval]
    .filter((part) => part !== undefined)
    .join('; ')
    .slice(-LONGEST_NOTE);
  return perform(deps, operation as OperationId, {
    params,
    query: undefined,
    body: write?.precondition === 'node' ? { ...given, note } : given,
    origin: { actor: proposedBy, correlationId },
    role: approvals[0]?.role ?? role,
    ...(write?.precondition === 'node' && expects !== null && { ifMatch: etagOf(expects) }),
    key: `proposal-${id}`,
    log: deps.logger,
    signal: new AbortController().signal,
  });
}
