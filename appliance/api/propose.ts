// Makes the plan of an operation on a node, which people approve.

import { OPERATIONS } from '../contract/operations.ts';
import { PROPOSABLE, type ProposableId } from '../contract/proposable.ts';
import { WIRE } from '../contract/wire.ts';
import type { Json } from '../domain/event.ts';
import { instantText } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import type { Proposal } from '../domain/proposal.ts';
import type { Role } from '../domain/token.ts';
import type { Proposed } from '../proposals/proposals.ts';
import type { ManagementDeps } from './deps.ts';
import { findNode } from './find-node.ts';
import { requireNodeVersion } from './preconditions.ts';
import { validated } from './validation.ts';

export interface Proposer {
  readonly actor: string;
  /** The token or the local user behind an agent. */
  readonly principal: string;
  readonly role: Role;
  readonly byAgent: boolean;
  readonly correlationId: string | null;
}

export async function planOperation(
  deps: Pick<ManagementDeps, 'fleet' | 'store'>,
  operation: ProposableId,
  request: { readonly node: string; readonly body: Readonly<Record<string, unknown>> },
  proposer: Proposer,
): Promise<Proposed> {
  const { access, write } = OPERATIONS[operation];
  if (access === 'public' || write === null) throw new Error(`${operation} cannot be proposed`);
  const machine = await findNode(deps, request.node);
  const { hostname } = machine.spec;
  const body = { ...request.body, ...(write.destroys !== null && { confirm: hostname }) };
  validated(WIRE[operation].body, body, 'body');
  const { actor, principal, role, byAgent, correlationId } = proposer;
  return {
    carriedOutBy: 'appliance',
    operation,
    params: { node: machine.id },
    body: body as Json,
    expects: machine.version,
    subject: `node:${hostname}`,
    what: `${OPERATIONS[operation].summary} (${hostname})`,
    impact: [`this ${PROPOSABLE[operation]}`, ...impactOn(machine, request.body)],
    ...{ proposedBy: actor, principal, role, byAgent, correlationId },
    needs: { approvals: 1, role: access, differentRoles: false },
  };
}

function impactOn({ spec, lifecycle, health, allocation }: Machine, body: Readonly<Record<string, unknown>>): string[] {
  const { hostname, site, sku, profile, cluster } = spec;
  const facts = { site, SKU: sku, profile, cluster };
  return [
    `node ${hostname}: ${lifecycle.state} since ${instantText(lifecycle.since)}, health ${health}`,
    ...Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`])),
    allocation ? `allocated to ${allocation.user} (${allocation.state}): refused while it is` : 'allocated to nobody',
    ...Object.entries(body).map(([name, value]) => `with ${name} ${JSON.stringify(value)}`),
  ];
}

/** Throws `version_conflict` with what has changed since the plan was made. */
export async function checkPlan(deps: Pick<ManagementDeps, 'fleet' | 'store'>, proposal: Proposal): Promise<void> {
  const node = nodeOf(proposal);
  if (proposal.expects !== null && node !== null) await requireNodeVersion(deps, proposal.expects, node);
}

const nodeOf = ({ params }: Proposal): string | null => (params as { readonly node?: string } | null)?.node ?? null;
