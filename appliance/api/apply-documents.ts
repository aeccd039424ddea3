// Inventory documents from the API are processed like files: one check, one plan, one write.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { parseObjectName } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import { type ApplyReport, type ApplyStore, applyInventory } from '../inventory/apply.ts';
import { type ApplyMode, checkInventory } from '../inventory/check.ts';
import { type RawSource, RESERVED_SOURCES } from '../inventory/read-files.ts';
import type { ManagementDeps } from './deps.ts';
import { inventoryConflict } from './preconditions.ts';

type Edge = Pick<ManagementDeps, 'store' | 'fleet' | 'clock' | 'newId'>;

/** The source of everything that no file declares. */
export const API_SOURCE = 'api';

export async function applyDocuments(
  edge: Edge,
  documents: readonly RawSource[],
  { mode, dryRun, origin }: { mode: ApplyMode; dryRun: boolean; origin: Origin },
): Promise<ApplyReport & { readonly warnings: readonly string[] }> {
  const held = edge.fleet.inventory();
  const { problems, warnings, sources } = checkInventory(documents, held, mode);
  if (problems.length > 0) {
    const [only] = problems;
    throw problems.length === 1 && only !== undefined
      ? new ColdironError('invalid_inventory', only)
      : new ColdironError('invalid_inventory', `${problems.length} problems; nothing was changed`, problems);
  }
  const { actor, correlationId, expectedVersion } = origin;
  const report = await applyInventory(
    expectedVersion === undefined ? edge.store : onRevision(edge.store, expectedVersion),
    // Reads the inventory again when a revision was named, so that the plan is checked against that revision.
    { mode, dryRun, actor, correlationId, sources, ...(expectedVersion === undefined && { held }) },
    { now: () => edge.clock.now(), newId: edge.newId },
  );
  return { ...report, warnings };
}

/** Plans only from this declared revision; the store rejects the write when the revision has changed. */
const onRevision = (store: Edge['store'], expected: number): ApplyStore => ({
  ...store,
  inventory: async () => {
    const inventory = await store.inventory();
    if (inventory.declaredRevision === expected) return inventory;
    throw await inventoryConflict({ store }, inventory.declaredRevision, [expected]);
  },
});

export const nodeDocuments = (nodes: readonly unknown[]): RawSource[] => [
  { file: 'request', name: API_SOURCE, value: { nodes } },
];

/** A source owns what it declares, so names that do not belong to a file are reserved. */
export function documentsOf(
  sources: readonly { name: string; file?: string; document: Record<string, unknown> }[],
): RawSource[] {
  const problems = sources.flatMap(({ name }, at) => {
    const reserved = RESERVED_SOURCES.get(name);
    const parsed = parseObjectName(name);
    if (reserved !== undefined) return [`sources[${at}].name: "${name}" is reserved for ${reserved}`];
    if (sources.findIndex((other) => other.name === name) !== at)
      return [`sources[${at}].name: ${shown(name)} occurs twice`];
    return parsed.ok ? [] : [`sources[${at}].name: ${parsed.reason}`];
  });
  if (problems.length > 0) {
    throw new ColdironError('invalid_request', problems[0] ?? '', problems.length > 1 ? problems : []);
  }
  return sources.map(({ name, file, document }) => ({ name, file: file ?? name, value: document }));
}
