// Stored allocations, also those that are over. They are written with `Store.commit`: a change of the node that they are on.

import type { Allocation, AllocationId, AllocationState, UserName } from '../domain/allocation.ts';
import type { MachineId } from '../domain/machine.ts';

export interface StoredAllocation {
  readonly machine: MachineId;
  readonly allocation: Allocation;
}

export interface AllocationQuery {
  readonly machine?: MachineId;
  readonly user?: UserName;
  readonly states?: readonly AllocationState[];
  readonly limit: number;
}

export interface AllocationStore {
  allocation(id: AllocationId): Promise<StoredAllocation | null>;
  /** The newest first. */
  allocations(query: AllocationQuery): Promise<StoredAllocation[]>;
}
