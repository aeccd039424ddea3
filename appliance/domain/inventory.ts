// The whole inventory as one value: as files declare it, and as the store has it.

import type { Cluster, Profile, RoceAssignment, Sku } from './catalogue.ts';
import type { Machine, MachineSpec } from './machine.ts';
import type { Site, SiteNetwork } from './network.ts';

/** The objects that a set of files declares. */
export interface DeclaredInventory {
  readonly sites: readonly Site[];
  readonly networks: readonly SiteNetwork[];
  readonly skus: readonly Sku[];
  readonly profiles: readonly Profile[];
  readonly clusters: readonly Cluster[];
  readonly roce: readonly RoceAssignment[];
  readonly nodes: readonly MachineSpec[];
}

/** Everything except the machines. */
export type Catalogue = Omit<DeclaredInventory, 'nodes'>;

export interface Inventory extends Catalogue {
  /** Without the removed machines. */
  readonly machines: readonly Machine[];
  /** Removed machines, in the order of their removal. Omitted if there are none. */
  readonly removed?: readonly Machine[];
  /** Which source declared each catalogue object, by `kind/name`. */
  readonly sources: ReadonlyMap<string, string>;
  /** Counts changes of declarations, not of states. */
  readonly declaredRevision: number;
  /** Counts every change, states and intents included. */
  readonly revision: number;
}

/** The inventory of a new store. */
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

/** The change of one object; in a dry run, the change that would be made. */
export interface ObjectChange {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly source: string;
  readonly change: 'created' | 'changed' | 'removed' | 'unchanged' | 'refused';
  /** For `changed`: the paths that differ, with both values. For `refused`: why. */
  readonly details: readonly string[];
}
