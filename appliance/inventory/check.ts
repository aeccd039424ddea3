// Checks inventory files: returns the declared inventory, or all problems. Pure.

import { structureReader, type ValidPart } from '../documents/structure.ts';
import type { DeclaredInventory, Inventory } from '../domain/inventory.ts';
import { crossCheck } from './cross-check.ts';
import {
  type DeclareContext,
  declareCluster,
  declareNetwork,
  declareNode,
  declareProfile,
  declareRoceOf,
  declareSite,
  declareSku,
} from './declare.ts';
import { type Drafts, type Entry, Findings } from './drafts.ts';
import { Fields } from './fields.ts';
import { HeldObjects } from './held-objects.ts';
import type { RawSource } from './read-files.ts';
import { InventoryDocument, type SectionName } from './schema.ts';

/** `reconcile`: objects that a source no longer declares are removed. `additive`: they are kept. */
export type ApplyMode = 'reconcile' | 'additive';

export interface DeclaredSource {
  readonly name: string;
  readonly file: string;
  readonly declared: DeclaredInventory;
}

type Section<Name extends SectionName> = NonNullable<InventoryDocument[Name]>[number];

const readStructure = structureReader(InventoryDocument);

/**
 * `held` is the stored inventory; the objects that the sources replace are not compared. `sources` is empty when there are
 * problems.
 */
export function checkInventory(
  raw: readonly RawSource[],
  held?: Inventory,
  mode: ApplyMode = 'reconcile',
): { problems: string[]; warnings: string[]; sources: DeclaredSource[] } {
  const findings = new Findings();
  const reader = new SectionReader(raw, findings);
  const others = new HeldObjects(held, raw, mode);

  const sites = reader.section('sites', declareSite);
  const skus = reader.section('skus', declareSku);
  // Stored objects come first: a conflict is reported at the new object.
  const allSites = [...others.catalogue('site', held?.sites, sites.flat()), ...sites.flat()];
  const allSkus = [...others.catalogue('sku', held?.skus, skus.flat()), ...skus.flat()];
  const context = declareContext(allSites, allSkus, reader.incomplete.has('sites'));

  const networks = reader.section('networks', (fields) => declareNetwork(fields, context));
  const profiles = reader.section('profiles', declareProfile);
  const clusters = reader.section('clusters', (fields) => declareCluster(fields, context));
  const roce = reader.section('roce', (fields) => declareRoceOf(fields, context));
  const nodes = reader.section('nodes', (fields) => others.sameNode(declareNode(fields, context)));
  crossCheck(
    {
      sites: allSites,
      skus: allSkus,
      networks: [...others.catalogue('network', held?.networks, networks.flat()), ...networks.flat()],
      profiles: [...others.catalogue('profile', held?.profiles, profiles.flat()), ...profiles.flat()],
      clusters: [...others.catalogue('cluster', held?.clusters, clusters.flat()), ...clusters.flat()],
      roce: [...others.catalogue('roce', held?.roce, roce.flat()), ...roce.flat()],
      nodes: [...others.nodes(nodes.flat()), ...nodes.flat()],
      incomplete: reader.incomplete,
    },
    findings,
  );
  const { problems, warnings } = findings;
  if (problems.length > 0) return { problems, warnings, sources: [] };

  const values = (entries: readonly Entry<unknown>[] | undefined) => entries?.map(({ draft }) => draft) ?? [];
  const sources = raw.map(({ name, file }, at): DeclaredSource => {
    // Without problems no field of a draft is undefined, so drafts are complete objects.
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

class SectionReader {
  readonly incomplete = new Set<SectionName>();
  readonly #sources: readonly { file: string; document: ValidPart<InventoryDocument> | undefined }[];
  readonly #findings: Findings;

  constructor(raw: readonly RawSource[], findings: Findings) {
    this.#findings = findings;
    for (const [at, { file, name }] of raw.entries()) {
      const first = raw.findIndex((source) => source.name === name);
      if (first < at) findings.problems.push(`${file}: the source name ${name} is already used by ${raw[first]?.file}`);
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
      const items = (document?.[name] ?? []) as readonly (ValidPart<Section<Name>> | undefined)[];
      return items.flatMap((item, index) => {
        const at = { file, path: `${name}[${index}]`, held: false };
        const draft = item && declare(new Fields<Section<Name>>(item, at, this.#findings));
        if ((draft?.name ?? draft?.hostname) === undefined) this.incomplete.add(name);
        return draft ? [{ at, draft }] : [];
      });
    });
  }
}

function declareContext(sites: Drafts['sites'], skus: Drafts['skus'], sitesIncomplete: boolean): DeclareContext {
  const siteNames = [...new Set(sites.flatMap(({ draft }) => draft.name ?? []))];
  const [first, ...more] = siteNames;
  const architectures = new Map(skus.map(({ draft }) => [draft.name, draft.architecture]));
  return {
    onlySite: sitesIncomplete || more.length > 0 ? undefined : (first ?? null),
    siteNames: sitesIncomplete ? [] : siteNames,
    architectureOf: (sku) => architectures.get(sku),
  };
}
