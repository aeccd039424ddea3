// The operations on proposals: changes that wait for the approval of people.

import { type Operation, V1, WRITES } from '../operation.ts';

const reads = { method: 'GET', access: 'viewer', tag: 'proposals', errors: [], write: null } as const;
const writes = { method: 'POST', access: 'operator', tag: 'proposals', errors: ['conflict'], write: WRITES } as const;
const ONE = `${V1}/proposals/:proposal`;

export const PROPOSAL_OPERATIONS = {
  listProposals: {
    ...reads,
    path: `${V1}/proposals`,
    summary: 'List proposals, the newest first',
    cli: 'proposals list',
  },
  getProposal: {
    ...reads,
    path: ONE,
    summary: 'Read one proposal: what it does, what it affects, its hash and its approvals',
    cli: 'proposals show',
  },
  proposeOperation: {
    ...writes,
    path: `${V1}/proposals`,
    access: 'agent',
    status: 201,
    errors: [...writes.errors, 'not_found'],
    summary: 'Propose an operation on a node; it is carried out once another person has approved exactly this',
    cli: null,
  },
  approveProposal: {
    ...writes,
    path: `${ONE}/approve`,
    // The proposal says which role its approvers need.
    access: 'tech',
    errors: [...writes.errors, 'version_conflict'],
    summary: 'Approve the proposal with this hash; the last approval that it needs carries it out',
    cli: 'proposals approve',
  },
  rejectProposal: {
    ...writes,
    path: `${ONE}/reject`,
    access: 'tech',
    summary: 'Reject a proposal, with a reason',
    cli: 'proposals reject',
  },
  rollBackSku: {
    ...writes,
    path: `${V1}/skus/:sku/rollback`,
    status: 201,
    errors: [...writes.errors, 'invalid_inventory', 'version_conflict'],
    summary: 'Propose to restore the version that a SKU had before its last approved change',
    cli: 'skus rollback',
  },
} as const satisfies Readonly<Record<string, Operation>>;
