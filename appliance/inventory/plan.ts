// What applying some sources would do to what the store holds. Pure: the dry run and the real thing are the same plan.
//
// An apply owns the objects of the sources it is given, and only those: everything else can be moved to it by being
// declared, but never goes because it is not.

import type { Instant } from '../domain/instant.ts';
import type { Inventory, ObjectChange } from '../domain/inventory.ts';
import type { InventoryWrites } from '../store/store.ts';
import type { ApplyMode, DeclaredSource } from './check.ts';
import { planCatalogue } from './plan-catalogue.ts';
import { planNodes } from './plan-nodes.ts';
import { recordChanges } from './plan-record.ts';

export interface PlanRequest {
  /** As `checkInventory` let them pass. */
  readonly sources: readonly DeclaredSource[];
  readonly mode: ApplyMode;
  readonly at: Instant;
  readonly actor: string;
  readonly correlationId: string | null;
  newId(): string;
}

export interface Plan {
  readonly changes: readonly ObjectChange[];
  /** Set when anything is refused; then `writes` must not be used. */
  readonly refusal: 'node_in_use' | 'conflict' | null;
  /** null when everything is as declared already. */
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
