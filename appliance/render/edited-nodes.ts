// Finds the nodes whose rendering an inventory edit can change. Compares plans instead of renderings, and only the plans of
// nodes that are related to an edited object.

import { roceName } from '../domain/catalogue.ts';
import type { Inventory } from '../domain/inventory.ts';
import { linksOf, type Machine, type MachineSpec } from '../domain/machine.ts';

import type { NodePlan } from './node-plan.ts';
import type { PlanIndex } from './plan-index.ts';
import { type PlannedNode, planNode } from './plan-node.ts';

export interface EditedNode {
  readonly hostname: string;
  readonly before: PlannedNode;
  readonly after: PlannedNode;
}

interface Edit {
  readonly before: { readonly inventory: Inventory; readonly index: PlanIndex };
  readonly after: { readonly inventory: Inventory; readonly index: PlanIndex };
  /** Whether templates may list all members of a cluster. Our templates list only the bootstrap members. */
  readonly namesMembers: boolean;
  readonly same: (a: unknown, b: unknown) => boolean;
}

/**
 * Nodes that exist before and after, by host name. Unedited objects must be identical (===) in both inventories.
 */
export function* editedNodes({ before, after, namesMembers, same }: Edit): Generator<EditedNode> {
  const old = new Map(before.inventory.machines.map((machine) => [machine.id, machine]));
  const touched = touchedObjects(before.inventory, after.inventory, old);
  for (const machine of after.index.machines) {
    const was = old.get(machine.id);
    if (!was || (was.spec === machine.spec && !concerns(touched, machine.spec, after.index))) continue;
    const edited = {
      hostname: machine.spec.hostname,
      before: planNode(before.index, was),
      after: planNode(after.index, machine),
    };
    if (!same(essence(edited.before, namesMembers), essence(edited.after, namesMembers))) yield edited;
  }
}

/** Everything that differs, as `kind/name`; a cluster also when one of its members differs. */
function touchedObjects(before: Inventory, after: Inventory, old: ReadonlyMap<string, Machine>): Set<string> {
  const touched = new Set<string>();
  for (const kind of ['sites', 'networks', 'profiles', 'clusters', 'roce'] as const) {
    const values = new Map<string, object>(before[kind].map((value) => [value.name, value]));
    for (const value of after[kind]) {
      if (values.get(value.name) !== value) touched.add(`${kind}/${value.name}`);
      values.delete(value.name);
    }
    for (const name of values.keys()) touched.add(`${kind}/${name}`);
  }
  const left = new Map(old);
  for (const { id, spec } of after.machines) {
    const was = old.get(id)?.spec;
    left.delete(id);
    if (was !== spec) for (const one of [was, spec]) touched.add(`clusters/${one?.cluster}`);
  }
  for (const { spec } of left.values()) touched.add(`clusters/${spec.cluster}`);
  return touched;
}

function concerns(touched: ReadonlySet<string>, spec: MachineSpec, index: PlanIndex): boolean {
  if (touched.size === 0) return false;
  const { site, profile, cluster, hostname } = spec;
  const home = cluster === null ? undefined : index.clusters.get(cluster);
  return (
    touched.has(`sites/${site}`) ||
    touched.has(`profiles/${profile}`) ||
    (cluster !== null && (touched.has(`clusters/${cluster}`) || touched.has(`networks/${home?.network}`))) ||
    (site !== null && touched.has(`roce/${roceName(site, hostname)}`)) ||
    linksOf(spec).some(({ network }) => touched.has(`networks/${network}`))
  );
}

/** What a rendering can depend on. The revision is returned beside a rendering and is not part of it. */
function essence(planned: PlannedNode, namesMembers: boolean): unknown {
  if (!planned.ok) return planned.reasons;
  const plan: Partial<NodePlan> = { ...planned.plan, inventoryRevision: 0 };
  return plan.cluster && !namesMembers ? { ...plan, cluster: { ...plan.cluster, members: [] } } : plan;
}
