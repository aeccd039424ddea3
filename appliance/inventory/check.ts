// Files to a declared inventory, or to everything that is wrong with them. Pure.

import { type Sound, structureReader } from '../documents/structure.ts';
import type { DeclaredInventory, Inventory } from '../domain/inventory.ts';
import { crossCheck } from './cross-check.ts';
import {
  declareCluster,
  declareNetwork,
  declareNode,
  declareProfile,
  declareRoceOf,
  declareSite,
  declareSku,
  type Surroundings,
} from './declare.ts';
import { type Drafts, type Entry, Findings } from './drafts.ts';
import { Fields } from './fields.ts';
import { HeldObjects } from './held-objects.ts';
import type { RawSource } from './read-files.ts';
import { InventoryDocument, type SectionName } from './schema.ts';

/** `reconcile`: what a source no longer declares goes. `additive`: it stays. */
export type ApplyMode = 'reconcile' | 'additive';

export interface DeclaredSource {
  readonly name: string;
  readonly file: string;
  readonly declared: DeclaredInventory;
}

type Section<Name extends SectionName> = NonNullable<InventoryDocument[Name]>[number];

const readStructure = structureReader(InventoryDocument);

/**
 * `held` is what the store holds; what the sources replace of it is left out of the comparison. There are sources in the
 * answer only when there are no problems.
 */
export function checkInventory(
  raw: readonly RawSource[],
  held?: Inventory,
  mode: ApplyMode = 'reconcile',
): { problems: string[]; warnings: string[]; sources: DeclaredSource[] } {
  const findings = new Findings();
  const reading = new Reading(raw, findings);
  const others = new HeldObjects(held, mode === 'reconcile' ? raw.map(({ name }) => name) : []);

  const sites = reading.section('sites', declareSite);
  const skus = reading.section('skus', declareSku);
  // What is held comes first: of two that claim the same, the newcomer is told.
  const allSites = [...others.catalogue('site', held?.sites, sites.flat()), ...sites.flat()];
  const allSkus = [...others.catalogue('sku', held?.skus, skus.flat()), ...skus.flat()];
  const around = surroundings(allSites, allSkus, reading.incomplete.has('sites'));

  const networks = reading.section('networks', (fields) => declareNetwork(fields, around));
  const profiles = reading.section('profiles', declareProfile);
  const clusters = reading.section('clusters', (fields) => declareCluster(fields, around));
  const roce = reading.section('roce', (fields) => declareRoceOf(fields, around));
  const nodes = reading.section('nodes', (fields) => others.sameNode(declareNode(fields, around)));
  crossCheck(
    {
      sites: allSites,
      skus: allSkus,
      networks: [...others.catalogue('network', held?.networks, networks.flat()), ...networks.flat()],
      profiles: [...others.catalogue('profile', held?.profiles, profiles.flat()), ...profiles.flat()],
      clusters: [...others.catalogue('cluster', held?.clusters, clusters.flat()), ...clusters.flat()],
      roce: [...others.catalogue('roce', held?.roce, roce.flat()), ...roce.flat()],
      nodes: [...others.nodes(nodes.flat()), ...nodes.flat()],
      incomplete: reading.incomplete,
    },
    findings,
  );
  const { problems, warnings } = findings;
  if (problems.length > 0) return { problems, warnings, sources: [] };

  const values = (entries: readonly Entry<unknown>[] | undefined) => entries?.map(({ draft }) => draft) ?? [];
  const sources = raw.map(({ name, file }, at): DeclaredSource => {
    // Without a problem no field is undefined, which is all that sets a draft apart.
    const declared = {
      sites: values(sites[at]),
      networks: values(networks[at]),
      skus: values(skus[at]),
      profiles: values(profiles[at]),
      clusters: values(clusters[at]),
      roce: values(roce[at]),
      nodes: values(nodes[at]),
    } as unknown as DeclaredInventory;
    return { name, file, declared };
  });
  return { problems, warnings, sources };
}

class Reading {
  readonly incomplete = new Set<SectionName>();
  readonly #sources: readonly { file: string; document: Sound<InventoryDocument> | undefined }[];
  readonly #findings: Findings;

  constructor(raw: readonly RawSource[], findings: Findings) {
    this.#findings = findings;
    for (const [at, { file, name }] of raw.entries()) {
      const first = raw.findIndex((source) => source.name === name);
      if (first < at) findings.problems.push(`${file}: a source named ${name} is there already: ${raw[first]?.file}`);
    }
    this.#sources = raw.map(({ file, value }) => ({
      file,
      document: readStructure(value, (path, message) => {
        findings.problems.push(path === '' ? `${file}: ${message}` : `${file}: ${path}: ${message}`);
      }),
    }));
  }

  /** One list per source. */
  section<Name extends SectionName, Draft extends { readonly name?: unknown; readonly hostname?: unknown }>(
    name: Name,
    declare: (fields: Fields<Section<Name>>) => Draft,
  ): Entry<Draft>[][] {
    return this.#sources.map(({ file, document }) => {
      if (!document || (Object.hasOwn(document, name) && !document[name])) this.incomplete.add(name);
      const items = (document?.[name] ?? []) as readonly (Sound<Section<Name>> | undefined)[];
      return items.flatMap((item, index) => {
        const at = { file, path: `${name}[${index}]`, held: false };
        const draft = item && declare(new Fields<Section<Name>>(item, at, this.#findings));
        if ((draft?.name ?? draft?.hostname) === undefined) this.incomplete.add(name);
        return draft ? [{ at, draft }] : [];
      });
    });
  }
}

function surroundings(sites: Drafts['sites'], skus: Drafts['skus'], sitesIncomplete: boolean): Surroundings {
  const siteNames = [...new Set(sites.flatMap(({ draft }) => draft.name ?? []))];
  const [first, ...more] = siteNames;
  const architectures = new Map(skus.map(({ draft }) => [draft.name, draft.architecture]));
  return {
    onlySite: sitesIncomplete || more.length > 0 ? undefined : (first ?? null),
    siteNames: sitesIncomplete ? [] : siteNames,
    architectureOf: (sku) => architectures.get(sku),
  };
}
