// Plans an apply: the changes that the given sources make to the stored inventory. Pure: a dry run uses the same plan.
//
// An apply owns only the objects of its sources: it can take over other objects by declaring them, but never removes them
// because they are undeclared.

import type { Instant } from '../domain/instant.ts';
import type { Inventory, ObjectChange } from '../domain/inventory.ts';
import type { InventoryWrites } from '../store/store.ts';
import type { ApplyMode, DeclaredSource } from './check.ts';
import { planCatalogue } from './plan-catalogue.ts';
import { planNodes } from './plan-nodes.ts';
import { recordChanges } from './plan-record.ts';

export interface PlanRequest {
  /** Already checked by `checkInventory`. */
  readonly sources: readonly DeclaredSource[];
  readonly mode: ApplyMode;
  readonly at: Instant;
  readonly actor: string;
  readonly correlationId: string | null;
  newId(): string;
}

export interface Plan {
  readonly changes: readonly ObjectChange[];
  /** Set when any object is refused; then `writes` must not be used. */
  readonly refusal: 'node_in_use' | 'conflict' | null;
  /** Null: nothing changes. */
  readonly writes: InventoryWrites | null;
}

export function planApply(held: Inventory, request: PlanRequest): Plan {
  const nodes = planNodes(held, request);
  const catalogue = planCatalogue(held, request, nodes.remaining);
  const steps = [...catalogue.steps, ...nodes.steps];
  const { events, audit } = recordChanges(steps, request);
  const writes: InventoryWrites = {
    declaredRevision: held.declaredRevision,
    putCatalogue: catalogue.put,
    dropCatalogue: catalogue.drop,
    createMachines: nodes.create,
    changeMachines: nodes.change,
    removeMachines: nodes.remove,
    events,
    audit,
  };
  const refusals = steps.filter(({ change }) => change.change === 'refused');
  const refusal = refusals.some(({ inUse }) => inUse) ? 'node_in_use' : refusals.length > 0 ? 'conflict' : null;
  return { changes: steps.map(({ change }) => change), refusal, writes: audit.length > 0 ? writes : null };
}
