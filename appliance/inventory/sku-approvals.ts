// A change of a SKU that nodes use needs two approvers with different roles. An apply that makes one is refused with the proposal that it
// made; once that is approved, the same apply goes through and settles the proposal in its own transaction.

import type { Sku } from '../domain/catalogue.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Json } from '../domain/event.ts';
import { DAY, type Instant } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { Needs, Proposal } from '../domain/proposal.ts';
import { approversOf, carriedOut, ended, isExpired, made, type ProposalChange } from '../proposals/decide.ts';
import { keyOf, type NewProposal, newProposal } from '../proposals/new-proposal.ts';
import type { InventoryWrites, Store } from '../store/store.ts';
import { difference, fileShape, sameValue } from './difference.ts';

export interface SkuChange {
  readonly before: Sku;
  readonly after: Sku;
  readonly nodes: number;
  readonly impact: readonly string[];
}

interface By {
  readonly at: Instant;
  readonly actor: string;
  readonly correlationId: string | null;
  readonly newId: () => string;
}

export type ApprovalStore = Pick<Store, 'proposals' | 'createProposal' | 'updateProposal'>;

/** Two people have to be found, and the file has to be applied again. */
const SKU_APPROVAL_TIME = 7 * DAY;
const MOST_OPEN = 1000;
const MOST_LISTED = 200;

export const SKU_NEEDS: Needs = { approvals: 2, role: 'operator', differentRoles: true };
export const skuSubject = (name: string): string => `sku:${name}`;
/** What a proposal of a SKU change contains, so that it can be rolled back. */
export const skuBody = (before: Sku, after: Sku) => ({ before, after }) as unknown as { before: Json; after: Json };

/** The changes that need approval: of SKUs that a node has now. */
export function governedChanges(held: Inventory, { putCatalogue }: InventoryWrites): SkuChange[] {
  return putCatalogue.flatMap(({ kind, name, value }) => {
    const before = kind === 'sku' ? held.skus.find((sku) => sku.name === name) : undefined;
    if (!before || sameValue(before, value)) return [];
    const change = skuChange(held, before, value as Sku);
    return change.nodes === 0 ? [] : [change];
  });
}

export function skuChange(held: Inventory, before: Sku, after: Sku): SkuChange {
  const users = held.machines.filter(({ spec }) => spec.sku === before.name);
  const lines = users.map(({ spec, lifecycle, allocation }) => {
    const user = allocation ? `, allocated to ${allocation.user} (${allocation.state})` : '';
    return `node ${spec.hostname}: ${lifecycle.state}${user}`;
  });
  const more = lines.length > MOST_LISTED ? [`and ${lines.length - MOST_LISTED} more nodes`] : [];
  const changes = difference(fileShape(before), fileShape(after)).map((line) => `changes ${line}`);
  return { before, after, nodes: users.length, impact: [...changes, ...lines.slice(0, MOST_LISTED), ...more] };
}

/** The same writes with the proposals that they settle; throws `approval_required` when an approval is missing. */
export async function withApprovals(
  store: ApprovalStore,
  held: Inventory,
  writes: InventoryWrites,
  by: By,
): Promise<InventoryWrites> {
  const settled: ProposalChange[] = [];
  const waiting: { readonly change: SkuChange; readonly proposal: Proposal }[] = [];
  for (const change of governedChanges(held, writes)) {
    const proposal = await proposalFor(store, change, by);
    if (proposal.state === 'approved') settled.push(carriedOut(proposal, null, by));
    else waiting.push({ change, proposal });
  }
  if (waiting.length > 0) throw approvalRequired(waiting);
  if (settled.length === 0) return writes;
  return {
    ...writes,
    proposals: settled.map(({ proposal }) => proposal),
    events: [...writes.events, ...settled.flatMap(({ events }) => events)],
    audit: [...writes.audit, ...settled.flatMap(({ audit }) => audit)],
  };
}

async function proposalFor(store: ApprovalStore, change: SkuChange, by: By): Promise<Proposal> {
  const proposed = skuProposal(change, by);
  const subject = skuSubject(change.before.name);
  const open = await store.proposals({ subject, states: ['proposed', 'approved'], limit: MOST_OPEN });
  const known = open.find(({ key }) => key === keyOf(proposed));
  if (known && !isExpired(known, by.at)) return known;
  if (known) {
    const late = { ...by, actor: 'appliance' };
    const { proposal, events, audit } = ended(known, 'expired', 'it was not approved and applied in time', late);
    await store.updateProposal(proposal, events, audit);
  }
  const { proposal, events, audit } = made(newProposal(by.newId(), proposed));
  return store.createProposal(proposal, events, audit, MOST_OPEN);
}

function skuProposal({ before, after, nodes, impact }: SkuChange, by: By): NewProposal {
  const { at, actor, correlationId } = by;
  return {
    carriedOutBy: 'apply',
    operation: 'applyInventory',
    params: { sku: before.name },
    body: skuBody(before, after),
    expects: null,
    subject: skuSubject(before.name),
    what: `change the SKU ${before.name}, which ${nodeCount(nodes)} use`,
    impact,
    // Only an admin applies files.
    ...{ proposedBy: actor, principal: actor, role: 'admin', byAgent: false, correlationId },
    proposedAt: at,
    expiresAt: at + SKU_APPROVAL_TIME,
    needs: SKU_NEEDS,
  };
}

export const nodeCount = (count: number): string => (count === 1 ? '1 node' : `${count} nodes`);

function approvalRequired(waiting: readonly { change: SkuChange; proposal: Proposal }[]): ColdironError {
  const lines = waiting.map(({ change, proposal }) => {
    const approvers = approversOf(proposal);
    const have = approvers.length === 0 ? 'no approval yet' : `approved by ${approvers.join(', ')}`;
    return `sku ${change.before.name}: ${nodeCount(change.nodes)} use it; proposal ${proposal.id}, ${have}`;
  });
  const ids = waiting.map(({ proposal }) => proposal.id);
  const hint =
    `Two people with different roles approve it, then apply again: coldiron proposals show ${ids[0]}; ` +
    `coldiron proposals approve ${ids[0]}`;
  const message = 'a SKU that nodes use needs two approvals to change; nothing was changed';
  return new ColdironError('approval_required', message, lines, hint);
}
