// Applies declared sources to the store: read, plan, write; retried after a version conflict.

import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Inventory, ObjectChange } from '../domain/inventory.ts';
import type { InventoryWrites, Store } from '../store/store.ts';
import type { ApplyMode, DeclaredSource } from './check.ts';
import { inventoryAfter } from './inventory-after.ts';
import { planApply } from './plan.ts';
import { type ApprovalStore, withApprovals } from './sku-approvals.ts';

export interface ApplyRequest {
  readonly sources: readonly DeclaredSource[];
  readonly mode: ApplyMode;
  readonly dryRun: boolean;
  readonly actor: string;
  readonly correlationId: string | null;
  /** The inventory that the caller has just read. The store is read again only after a version conflict. */
  readonly held?: Inventory;
  /** Approves the plan in another way than by the proposals of an apply: the approved proposal that this apply carries out. */
  readonly approve?: (held: Inventory, writes: InventoryWrites) => InventoryWrites;
}

/** What an apply needs of the store. */
export type ApplyStore = Pick<Store, 'inventory' | 'writeInventory'> & ApprovalStore;

export interface ApplyReport {
  readonly dryRun: boolean;
  readonly revision: number;
  readonly declaredRevision: number;
  readonly changes: readonly ObjectChange[];
  /** Only for a dry run without refusals: the inventory before and after. */
  readonly outlook?: { readonly before: Inventory; readonly after: Inventory };
}

const MAX_ATTEMPTS = 5;

export async function applyInventory(
  store: ApplyStore,
  request: ApplyRequest,
  deps: { now(): Instant; newId(): string },
): Promise<ApplyReport> {
  for (let attempt = 1; ; attempt++) {
    try {
      const held = attempt === 1 && request.held ? request.held : await store.inventory();
      return await applyOnce(store, held, request, deps);
    } catch (error) {
      const conflict = error instanceof ColdironError && error.code === 'version_conflict';
      if (!conflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function applyOnce(
  store: ApplyStore,
  held: Inventory,
  { sources, mode, dryRun, actor, correlationId, approve }: ApplyRequest,
  deps: { now(): Instant; newId(): string },
): Promise<ApplyReport> {
  const { revision, declaredRevision } = held;
  const by = { at: deps.now(), actor, correlationId, newId: () => deps.newId() };
  const { changes, refusal, writes } = planApply(held, { sources, mode, ...by });
  if (dryRun) {
    const outlook = writes && !refusal ? { outlook: { before: held, after: inventoryAfter(held, writes) } } : {};
    return { dryRun, revision, declaredRevision, changes, ...outlook };
  }
  if (refusal) {
    const refusals = changes.filter(({ change }) => change === 'refused');
    const lines = refusals.map(({ kind, name, details }) => `${kind} ${name}: ${details.join('; ')}`);
    throw new ColdironError(refusal, 'the inventory cannot be applied; nothing was changed', lines);
  }
  if (!writes) return { dryRun, revision, declaredRevision, changes };
  const allowed = approve ? approve(held, writes) : await withApprovals(store, held, writes, by);
  return { dryRun, ...(await store.writeInventory(allowed)), changes };
}
