// The example inventory as an editable document, and the plans made from it.

import type { Inventory } from '../../appliance/domain/inventory.ts';
import { parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { declaredInventory } from '../../appliance/inventory/declared-inventory.ts';
import { readInventoryFiles } from '../../appliance/inventory/read-files.ts';
import type { NodePlan } from '../../appliance/render/node-plan.ts';
import { indexInventory, type PlanIndex } from '../../appliance/render/plan-index.ts';
import { planNode } from '../../appliance/render/plan-node.ts';
import { counter } from '../inventory/memory-store.ts';

type Fields = Record<string, unknown>;

export interface ExampleDocument {
  sites: Fields[];
  networks: Fields[];
  skus: Fields[];
  profiles: Fields[];
  clusters: Fields[];
  roce?: Fields[];
  nodes: (Fields & { name: string; interfaces: Fields[] })[];
}

const [EXAMPLE] = await readInventoryFiles(['inventory/example.yaml']);

export function example(change: (document: ExampleDocument) => void = () => {}): ExampleDocument {
  const document = structuredClone(EXAMPLE?.value) as ExampleDocument;
  change(document);
  return document;
}

export const named = <T extends Fields>(list: readonly T[], name: string): T => {
  const found = list.find((one) => one.name === name);
  if (!found) throw new Error(`the example has no ${name}`);
  return found;
};

export function inventoryFrom(document: ExampleDocument): Inventory {
  const { problems, sources } = checkInventory([{ file: 'example.yaml', name: 'example', value: document }]);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return { ...declaredInventory(sources, 0, counter()), declaredRevision: 7 };
}

export const indexOf = (change?: (document: ExampleDocument) => void): PlanIndex =>
  indexInventory(inventoryFrom(example(change)));

export function planned(index: PlanIndex, hostname: string): NodePlan {
  const result = resultFor(index, hostname);
  if (!result.ok) throw new Error(result.reasons.join('\n'));
  return result.plan;
}

export function reasonsFor(index: PlanIndex, hostname: string): readonly string[] {
  const result = resultFor(index, hostname);
  return result.ok ? [] : result.reasons;
}

function resultFor(index: PlanIndex, hostname: string) {
  const machine = index.machineByHostname(mustParse(parseHostname(hostname)));
  if (!machine) throw new Error(`no ${hostname}`);
  return planNode(index, machine);
}

export const SITE = mustParse(parseObjectName('example'));
