// The operations on allocations of nodes.

import { type Operation, V1, WRITES } from '../operation.ts';

const reads = { method: 'GET', access: 'viewer', tag: 'allocations', errors: [], write: null } as const;
const writes = {
  method: 'POST',
  access: 'operator',
  tag: 'allocations',
  errors: ['conflict', 'not_found'],
  write: { ...WRITES, idempotent: true },
} as const;
const ONE = `${V1}/allocations/:allocation`;

export const ALLOCATION_OPERATIONS = {
  listAllocations: {
    ...reads,
    path: `${V1}/allocations`,
    errors: ['not_found'],
    summary: 'List allocations, the newest first',
    cli: 'allocations list',
  },
  getAllocation: { ...reads, path: ONE, summary: 'Read one allocation', cli: 'allocations show' },
  requestAllocation: {
    ...writes,
    path: `${V1}/allocations`,
    status: 201,
    errors: [...writes.errors, 'node_in_use'],
    summary: 'Allocate a node, or any free node of a SKU, to a user; the account is created by a signed task',
    cli: 'allocations request',
  },
  releaseAllocation: {
    ...writes,
    path: `${ONE}/release`,
    summary: 'Release an allocation: the account and its files are removed; again after a release that failed',
    cli: 'allocations release',
  },
  cleanUpAllocation: {
    ...writes,
    path: `${ONE}/clean-up`,
    access: 'admin',
    summary: 'End an allocation whose release failed, because nothing of its account is left on the node',
    cli: 'allocations clean-up',
  },
  setAllocationKeySet: {
    ...writes,
    method: 'PUT',
    path: `${ONE}/key-set`,
    summary: 'Use another key set for an allocation, or the default keys',
    cli: 'allocations keys',
  },
} as const satisfies Readonly<Record<string, Operation>>;
