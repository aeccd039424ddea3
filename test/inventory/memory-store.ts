// An in-memory store with the two methods that an apply needs and the guarantees of the real ones.

import { ColdironError } from '../../appliance/domain/errors.ts';
import { EMPTY_INVENTORY, type Inventory } from '../../appliance/domain/inventory.ts';
import type { DeclaredSource } from '../../appliance/inventory/check.ts';
import { inventoryAfter } from '../../appliance/inventory/inventory-after.ts';
import { planApply } from '../../appliance/inventory/plan.ts';
import type { InventoryWrites } from '../../appliance/store/store.ts';

export const idNumber = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export function counter(): () => string {
  let next = 0;
  return () => idNumber(++next);
}

/** The inventory of an empty store after these sources were applied. */
export function inventoryOf(sources: readonly DeclaredSource[]): Inventory {
  const request = { sources, mode: 'reconcile', at: 0, actor: 'test', correlationId: null, newId: counter() } as const;
  const { writes } = planApply(EMPTY_INVENTORY, request);
  return writes ? written(EMPTY_INVENTORY, writes) : EMPTY_INVENTORY;
}

export class MemoryStore {
  held: Inventory;
  readonly writes: InventoryWrites[] = [];
  /** Runs once before the next write, like a concurrent writer. */
  meanwhile: (() => void) | null = null;

  constructor(held: Inventory = EMPTY_INVENTORY) {
    this.held = held;
  }

  async inventory(): Promise<Inventory> {
    return this.held;
  }

  async writeInventory(writes: InventoryWrites): Promise<{ revision: number; declaredRevision: number }> {
    this.meanwhile?.();
    if (writes.declaredRevision !== this.held.declaredRevision) {
      throw new ColdironError('version_conflict', 'the inventory was changed in the meantime');
    }
    this.held = written(this.held, writes);
    this.writes.push(writes);
    const { revision, declaredRevision } = this.held;
    return { revision, declaredRevision };
  }
}

export function written(held: Inventory, writes: InventoryWrites): Inventory {
  const versions = new Map(held.machines.map(({ id, version }) => [id, version]));
  for (const { id, version } of writes.changeMachines) {
    if (versions.get(id) !== version) throw new ColdironError('version_conflict', 'the machine was changed');
  }
  return inventoryAfter(held, writes);
}
