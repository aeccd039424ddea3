// The operations that can be proposed, and what a person who approves one is told that it does.

import type { OperationId } from './operations.ts';

export const PROPOSABLE = {
  deployNode: 'overwrites the data on the disk and installs its profile',
  releaseNode: 'erases all disks and ends its identity',
  drainNode: 'moves the workload away; the node is retired afterwards',
  retireNode: 'takes the node out of use; it can be reactivated',
  removeNode: 'permanently ends the identity of the node',
  setNodePower: 'changes the power of the machine; a running system is interrupted',
} as const satisfies { readonly [Id in OperationId]?: string };

export type ProposableId = keyof typeof PROPOSABLE;
export const PROPOSABLE_IDS = Object.keys(PROPOSABLE) as ProposableId[];
