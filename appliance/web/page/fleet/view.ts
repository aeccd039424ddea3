// Which rows of the fleet are shown, in which order and groups. Pure; the choice is in the URL.

import type { Entry } from '../live/fleet-store.ts';
import { naturalKey, type Row, TABS, type Tab } from '../live/row.ts';

export const GROUPS = ['none', 'site', 'rack', 'state', 'profile'] as const;
export type Group = (typeof GROUPS)[number];
export const SORTS = ['name', 'state', 'since', 'rack', 'profile'] as const;
export type Sort = (typeof SORTS)[number];

export interface View {
  readonly tab: Tab;
  readonly filter: string;
  readonly site: string | null;
  readonly group: Group;
  readonly sort: Sort;
  readonly descending: boolean;
}

const oneOf = <T extends string>(values: readonly T[], text: string | null): T | undefined =>
  values.find((value) => value === text);

export function viewOf(query: URLSearchParams): View {
  const sort = query.get('sort') ?? '';
  return {
    tab: oneOf(TABS, query.get('tab')) ?? 'all',
    filter: query.get('q') ?? '',
    site: query.get('site'),
    group: oneOf(GROUPS, query.get('group')) ?? 'none',
    sort: oneOf(SORTS, sort.replace(/^-/, '')) ?? 'name',
    descending: sort.startsWith('-'),
  };
}

type Test = (entry: Entry) => boolean;

const FIELDS: Readonly<Record<string, (row: Row) => string | null>> = {
  name: ({ hostname }) => hostname,
  state: ({ state }) => state,
  health: ({ health }) => health,
  site: ({ site }) => site,
  rack: ({ rack }) => rack,
  unit: ({ unit }) => unit,
  profile: ({ profile }) => profile,
  sku: ({ sku }) => sku,
  cluster: ({ cluster }) => cluster,
  arch: ({ arch }) => arch,
  user: ({ allocated_to }) => allocated_to,
  identity: ({ identity }) => identity.level,
};

/** `r12 state:failed -profile:debian`: every term must match, a term with a minus must not. */
export function filterTest(filter: string): Test {
  const tests = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '' && term !== '-')
    .map(termTest);
  return (entry) => tests.every((test) => test(entry));
}

function termTest(term: string): Test {
  if (term.startsWith('-')) {
    const test = termTest(term.slice(1));
    return (entry) => !test(entry);
  }
  const colon = term.indexOf(':');
  // A MAC address has colons, too: only a known field makes it a field.
  const field = colon > 0 ? FIELDS[term.slice(0, colon)] : undefined;
  if (field === undefined) return ({ search }) => search.includes(term);
  const wanted = term.slice(colon + 1);
  return ({ row }) => (field(row) ?? '').toLowerCase().includes(wanted);
}

/** Whether the row belongs to the view. */
export function matcher(view: View): Test {
  const test = filterTest(view.filter);
  return (entry) =>
    entry.tabs.includes(view.tab) && (view.site === null || entry.row.site === view.site) && test(entry);
}

const STATE_ORDER: Readonly<Record<Row['state'], string>> = {
  failed: '0',
  quarantined: '1',
  discovered: '2',
  rescue: '3',
  deploying: '4',
  commissioning: '4',
  enrolling: '4',
  releasing: '4',
  draining: '4',
  registered: '5',
  ready: '6',
  active: '7',
  retired: '8',
  removed: '9',
};

/** After every text. */
const LAST = '\uffff';

/** A key that plain comparison sorts; the name decides between equals. */
export function sortKey({ row, nameKey }: Entry, sort: Sort): string {
  switch (sort) {
    case 'name':
      return nameKey;
    case 'state':
      return `${STATE_ORDER[row.state]}${row.state}\n${nameKey}`;
    case 'since':
      return `${row.state_since}\n${nameKey}`;
    case 'rack':
      return `${row.rack === null ? LAST : naturalKey(row.rack)}\n${naturalKey(row.unit ?? '')}\n${nameKey}`;
    case 'profile':
      return `${row.profile ?? LAST}\n${nameKey}`;
  }
}

export function groupOf({ row }: Entry, group: Group): string {
  switch (group) {
    case 'none':
      return '';
    case 'site':
      return row.site ?? 'No site';
    case 'rack':
      return row.rack === null ? 'No rack' : `Rack ${row.rack}`;
    case 'state':
      return row.state;
    case 'profile':
      return row.profile ?? 'No profile';
  }
}

export type Item =
  | { readonly kind: 'group'; readonly name: string; readonly count: number }
  | { readonly kind: 'row'; readonly hostname: string };

export interface Arrangement {
  readonly items: readonly Item[];
  /** Sort key with group of each row that is shown: what changes it would move the row. */
  readonly keys: ReadonlyMap<string, string>;
}

const positionKey = (entry: Entry, view: View): string => `${groupOf(entry, view.group)}\t${sortKey(entry, view.sort)}`;

export function arrange(entries: Iterable<Entry>, view: View): Arrangement {
  const wanted = matcher(view);
  const found: { key: string; group: string; hostname: string }[] = [];
  for (const entry of entries) {
    if (!wanted(entry)) continue;
    found.push({ key: sortKey(entry, view.sort), group: groupOf(entry, view.group), hostname: entry.row.hostname });
  }
  const turn = view.descending ? -1 : 1;
  found.sort((a, b) => (a.key < b.key ? -turn : a.key > b.key ? turn : 0));
  const keys = new Map(found.map(({ key, group, hostname }) => [hostname, `${group}\t${key}`]));
  if (view.group === 'none') return { items: found.map(({ hostname }) => ({ kind: 'row', hostname })), keys };
  const groups = [...Map.groupBy(found, ({ group }) => group)].map(([name, rows]) => ({
    name,
    rows,
    key: naturalKey(name),
  }));
  groups.sort((a, b) => (a.key < b.key ? -1 : 1));
  const items = groups.flatMap(({ name, rows }): Item[] => [
    { kind: 'group', name, count: rows.length },
    ...rows.map(({ hostname }): Item => ({ kind: 'row', hostname })),
  ]);
  return { items, keys };
}

/** Whether a changed row would be added, removed or moved by arranging again. */
export function isMoved(hostname: string, entry: Entry | undefined, { keys }: Arrangement, view: View): boolean {
  const before = keys.get(hostname);
  if (entry === undefined || !matcher(view)(entry)) return before !== undefined;
  return before !== positionKey(entry, view);
}
