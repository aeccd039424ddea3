// Plans sites, networks, SKUs, profiles, clusters and RoCE links: declared ones are written, undeclared ones are removed if unused.

import type { Cluster, Profile, RoceAssignment } from '../domain/catalogue.ts';
import type { Catalogue, CatalogueKind, Inventory } from '../domain/inventory.ts';
import { linksOf, type MachineSpec } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { CatalogueValue, InventoryWrites } from '../store/store.ts';
import { takeover } from './ownership.ts';
import type { PlanRequest } from './plan.ts';
import { refused, removal, type Step, stepTo, withNotes } from './plan-record.ts';

export interface CataloguePlan {
  readonly steps: readonly Step[];
  readonly put: InventoryWrites['putCatalogue'];
  readonly drop: InventoryWrites['dropCatalogue'];
}

const LISTS = [
  ['site', 'sites'],
  ['network', 'networks'],
  ['sku', 'skus'],
  ['profile', 'profiles'],
  ['cluster', 'clusters'],
  ['roce', 'roce'],
] as const satisfies readonly (readonly [CatalogueKind, keyof Catalogue])[];

export function planCatalogue(held: Inventory, request: PlanRequest, nodes: readonly MachineSpec[]): CataloguePlan {
  const applied = new Set(request.sources.map(({ name }) => name));
  const steps: Step[] = [];
  const put: CataloguePlan['put'][number][] = [];
  const undeclared: { kind: CatalogueKind; value: CatalogueValue; source: string }[] = [];
  const remaining: [CatalogueKind, CatalogueValue][] = [];
  for (const [kind, list] of LISTS) {
    const heldValues: readonly CatalogueValue[] = held[list];
    const before = new Map(heldValues.map((value) => [value.name, value]));
    for (const { name: source, declared } of request.sources) {
      for (const value of declared[list] as readonly CatalogueValue[]) {
        const { name } = value;
        const old = before.get(name);
        before.delete(name);
        remaining.push([kind, value]);
        const owner = old && { value: old, source: held.sources.get(`${kind}/${name}`) ?? '' };
        const step = stepTo(kind, name, owner ?? null, { value, source });
        const notes = [
          ...(owner ? [takeover(owner.source, source, request)] : []),
          ...(kind === 'sku' && step.change.change === 'changed' ? [impactOf(name, nodes)] : []),
        ].filter((note) => note !== null);
        steps.push(notes.length === 0 ? step : withNotes(step, notes));
        if (step.change.change !== 'unchanged') put.push({ kind, name, source, value });
      }
    }
    for (const [name, value] of before) {
      const source = held.sources.get(`${kind}/${name}`) ?? '';
      if (request.mode === 'reconcile' && applied.has(source)) undeclared.push({ kind, value, source });
      else remaining.push([kind, value]);
    }
  }
  const users = undeclared.length > 0 ? usersOf(remaining, nodes) : new Map<string, string[]>();
  const drop: CataloguePlan['drop'][number][] = [];
  for (const { kind, value, source } of undeclared) {
    const named = users.get(`${kind}/${value.name}`) ?? [];
    if (named.length > 0) steps.push(refused(kind, value.name, source, `still used by ${listed(named)}`));
    else {
      steps.push(removal(kind, value.name, { value, source }));
      drop.push({ kind, name: value.name });
    }
  }
  return { steps, put, drop };
}

/** Which nodes a changed SKU is about; null: none. */
function impactOf(sku: string, nodes: readonly MachineSpec[]): string | null {
  const users = nodes.flatMap((node) => (node.sku === sku ? [node.hostname] : []));
  if (users.length === 0) return null;
  return `${users.length === 1 ? '1 node is' : `${users.length} nodes are`} of this SKU, so two people approve it: ${listed(users)}`;
}

/** The users of each object, among the objects that remain. */
function usersOf(
  remaining: readonly (readonly [CatalogueKind, CatalogueValue])[],
  nodes: readonly MachineSpec[],
): Map<string, string[]> {
  const users = new Map<string, string[]>();
  const uses = (user: string, kind: CatalogueKind, name: string | null) => {
    if (name === null) return;
    const key = `${kind}/${name}`;
    const known = users.get(key);
    if (!known) users.set(key, [user]);
    else if (known.at(-1) !== user) known.push(user);
  };
  for (const [kind, value] of remaining) {
    const user = `${kind} ${value.name}`;
    if (kind === 'network' || kind === 'roce') uses(user, 'site', (value as SiteNetwork | RoceAssignment).site);
    if (kind === 'profile') for (const sku of (value as Profile).skus) uses(user, 'sku', sku);
    if (kind !== 'cluster') continue;
    uses(user, 'site', (value as Cluster).site);
    uses(user, 'network', (value as Cluster).network);
  }
  for (const node of nodes) {
    const { hostname, site, sku, profile, cluster } = node;
    const user = `node ${hostname}`;
    uses(user, 'site', site);
    uses(user, 'sku', sku);
    uses(user, 'profile', profile);
    uses(user, 'cluster', cluster);
    for (const { network } of linksOf(node)) uses(user, 'network', network);
  }
  return users;
}

const MAX_LISTED = 5;
const listed = (names: readonly string[]): string =>
  names.length <= MAX_LISTED
    ? names.join(', ')
    : `${names.slice(0, MAX_LISTED).join(', ')} and ${names.length - MAX_LISTED} more`;
