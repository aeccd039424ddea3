// An in-memory store with the methods that an apply needs and the guarantees of the real ones.

import { ColdironError } from '../../appliance/domain/errors.ts';
import { EMPTY_INVENTORY, type Inventory } from '../../appliance/domain/inventory.ts';
import type { Proposal } from '../../appliance/domain/proposal.ts';
import { isOver } from '../../appliance/domain/proposal.ts';
import type { DeclaredSource } from '../../appliance/inventory/check.ts';
import { inventoryAfter } from '../../appliance/inventory/inventory-after.ts';
import { planApply } from '../../appliance/inventory/plan.ts';
import type { ProposalQuery } from '../../appliance/store/proposal-store.ts';
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
  readonly #proposals = new Map<string, Proposal>();
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
    for (const proposal of writes.proposals ?? []) await this.updateProposal(proposal);
    const { revision, declaredRevision } = this.held;
    return { revision, declaredRevision };
  }

  async createProposal(proposal: Proposal): Promise<Proposal> {
    const same = [...this.#proposals.values()].find(({ key, state }) => key === proposal.key && !isOver(state));
    if (same) return same;
    this.#proposals.set(proposal.id, proposal);
    return proposal;
  }

  async updateProposal(proposal: Proposal): Promise<void> {
    if (this.#proposals.get(proposal.id)?.version !== proposal.version - 1) {
      throw new ColdironError('version_conflict', 'the proposal was changed in the meantime');
    }
    this.#proposals.set(proposal.id, proposal);
  }

  async proposals({ states, subject }: ProposalQuery): Promise<Proposal[]> {
    return [...this.#proposals.values()].filter(
      (proposal) => (states?.includes(proposal.state) ?? true) && (subject ?? proposal.subject) === proposal.subject,
    );
  }
}

export function written(held: Inventory, writes: InventoryWrites): Inventory {
  const versions = new Map(held.machines.map(({ id, version }) => [id, version]));
  for (const { id, version } of writes.changeMachines) {
    if (versions.get(id) !== version) throw new ColdironError('version_conflict', 'the machine was changed');
  }
  return inventoryAfter(held, writes);
}
