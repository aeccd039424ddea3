// The fleet in memory: rows by host name, kept up to date by the stream. Counts are kept along, so that 5,000 changes in ten
// seconds do not make the page count 10,000 rows for each.

import { naturalKey, type Row, searchText, TABS, type Tab, tabsOf } from './row.ts';

export interface Entry {
  readonly row: Row;
  readonly tabs: readonly Tab[];
  readonly search: string;
  readonly nameKey: string;
}

export class FleetStore {
  readonly entries = new Map<string, Entry>();
  readonly counts: Record<Tab, number>;
  /** Host names with something armed. */
  readonly armed = new Set<string>();

  /** How many rows each site has. */
  readonly sites = new Map<string, number>();

  constructor() {
    this.counts = Object.fromEntries(TABS.map((tab) => [tab, 0])) as Record<Tab, number>;
  }

  put(row: Row): void {
    const before = this.entries.get(row.hostname);
    const tabs = tabsOf(row);
    const nameKey = before?.nameKey ?? naturalKey(row.hostname);
    if (before) this.#count(before, -1);
    const entry = { row, tabs, search: searchText(row), nameKey };
    this.entries.set(row.hostname, entry);
    this.#count(entry, 1);
    if (row.armed === null) this.armed.delete(row.hostname);
    else this.armed.add(row.hostname);
  }

  delete(hostname: string): void {
    const before = this.entries.get(hostname);
    if (!before) return;
    this.#count(before, -1);
    this.entries.delete(hostname);
    this.armed.delete(hostname);
  }

  clear(): void {
    this.entries.clear();
    this.armed.clear();
    this.sites.clear();
    for (const tab of TABS) this.counts[tab] = 0;
  }

  #count({ tabs, row: { site } }: Entry, by: number): void {
    for (const tab of tabs) this.counts[tab] += by;
    if (site === null) return;
    const left = (this.sites.get(site) ?? 0) + by;
    if (left === 0) this.sites.delete(site);
    else this.sites.set(site, left);
  }
}
