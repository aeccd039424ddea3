// The whole inventory as one value: what files declare, and what the store holds of it.

import type { Cluster, Profile, RoceAssignment, Sku } from './catalogue.ts';
import type { Machine, MachineSpec } from './machine.ts';
import type { Site, SiteNetwork } from './network.ts';

/** What a set of files declares. */
export interface DeclaredInventory {
  readonly sites: readonly Site[];
  readonly networks: readonly SiteNetwork[];
  readonly skus: readonly Sku[];
  readonly profiles: readonly Profile[];
  readonly clusters: readonly Cluster[];
  readonly roce: readonly RoceAssignment[];
  readonly nodes: readonly MachineSpec[];
}

/** Everything but the machines. */
export type Catalogue = Omit<DeclaredInventory, 'nodes'>;

export interface Inventory extends Catalogue {
  /** Removed machines are not among them. */
  readonly machines: readonly Machine[];
  /** Those whose life is over, in the order in which they were removed. Left out where nobody remembers any. */
  readonly removed?: readonly Machine[];
  /** Which source declared each catalogue object, by `kind/name`. */
  readonly sources: ReadonlyMap<string, string>;
  /** Counts changes of what is declared; not of what becomes of it. */
  readonly declaredRevision: number;
  /** Counts every change, states and intents included. */
  readonly revision: number;
}

/** A store that nothing was applied to. */
export const EMPTY_INVENTORY: Inventory = {
  sites: [],
  networks: [],
  skus: [],
  profiles: [],
  clusters: [],
  roce: [],
  machines: [],
  removed: [],
  sources: new Map(),
  declaredRevision: 0,
  revision: 0,
};

export const CATALOGUE_KINDS = ['site', 'network', 'sku', 'profile', 'cluster', 'roce'] as const;
export type CatalogueKind = (typeof CATALOGUE_KINDS)[number];
export type ObjectKind = CatalogueKind | 'node';

/** What happened, or in a dry run would happen, to one object. */
export interface ObjectChange {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly source: string;
  readonly change: 'created' | 'changed' | 'removed' | 'unchanged' | 'refused';
  /** For `changed`: the paths that differ, with both values. For `refused`: why. */
  readonly details: readonly string[];
}
