// Resolves references by name to objects.

import { suggestion } from '../documents/nearest-name.ts';
import type { Drafts, Entry, Findings, Place } from './drafts.ts';
import type { SectionName } from './schema.ts';

type CatalogueSection = Exclude<SectionName, 'nodes'>;
type Found<Section extends CatalogueSection> = Drafts[Section][number];

const WORDS: Readonly<Record<CatalogueSection, string>> = {
  sites: 'site',
  networks: 'network',
  skus: 'SKU',
  profiles: 'profile',
  clusters: 'cluster',
  roce: 'assignment',
};

export class References {
  readonly #drafts: Drafts;
  readonly #findings: Findings;
  readonly #byName: Readonly<Record<CatalogueSection, ReadonlyMap<string, unknown>>>;

  constructor(drafts: Drafts, findings: Findings) {
    this.#drafts = drafts;
    this.#findings = findings;
    this.#byName = {
      sites: byName(drafts.sites),
      networks: byName(drafts.networks),
      skus: byName(drafts.skus),
      profiles: byName(drafts.profiles),
      clusters: byName(drafts.clusters),
      roce: byName(drafts.roce),
    };
  }

  /** The object with this name, if a name is given. Reports a name that does not exist. */
  follow<Section extends CatalogueSection>(
    section: Section,
    name: string | null | undefined,
    at: Place,
    field: string,
  ): Found<Section> | undefined {
    if (name === null || name === undefined) return undefined;
    const names = this.#byName[section];
    const found = names.get(name);
    // The object may be one that could not be read.
    if (!found && !this.#drafts.incomplete.has(section)) {
      this.#findings.report(at, field, `unknown ${WORDS[section]}: ${name}${suggestion(name, names.keys())}`);
    }
    return found as Found<Section> | undefined;
  }

  /** The object with this name. Does not report a missing one: `follow` does that. */
  find<Section extends CatalogueSection>(
    section: Section,
    name: string | null | undefined,
  ): Found<Section> | undefined {
    return this.#byName[section].get(name ?? '') as Found<Section> | undefined;
  }

  /** False for a name that does not exist: checks that depend on it are skipped. */
  knows(section: CatalogueSection, name: string | null | undefined): boolean {
    return typeof name === 'string' && this.#byName[section].has(name);
  }

  /** Both sites exist and differ. */
  differentSites(site: string | null | undefined, other: string | null | undefined): boolean {
    return site !== other && this.knows('sites', site) && this.knows('sites', other);
  }
}

function byName<T extends { readonly name: string | undefined }>(
  entries: readonly Entry<T>[],
): ReadonlyMap<string, Entry<T>> {
  const found = new Map<string, Entry<T>>();
  for (const entry of entries) {
    if (entry.draft.name !== undefined && !found.has(entry.draft.name)) found.set(entry.draft.name, entry);
  }
  return found;
}
