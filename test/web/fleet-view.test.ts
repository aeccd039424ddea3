import { describe, expect, it } from 'vitest';
import { arrange, filterTest, isMoved, type View, viewOf } from '../../appliance/web/page/fleet/view.ts';
import { scrollFor, virtualWindow } from '../../appliance/web/page/fleet/virtual-window.ts';
import { FleetStore } from '../../appliance/web/page/live/fleet-store.ts';
import type { Row } from '../../appliance/web/page/live/row.ts';
import { rowOf } from './rows.ts';

const storeOf = (...rows: Partial<Row>[]): FleetStore => {
  const store = new FleetStore();
  for (const row of rows) store.put(rowOf(row));
  return store;
};
const viewWith = (query: string): View => viewOf(new URLSearchParams(query));
const shown = (store: FleetStore, query = ''): string[] =>
  arrange(store.entries.values(), viewWith(query)).items.map((item) =>
    item.kind === 'group' ? `${item.name} ${item.count}` : item.hostname,
  );
const entryOf = (row: Partial<Row>) => {
  const [entry] = storeOf(row).entries.values();
  if (!entry) throw new Error('no entry');
  return entry;
};

describe('the filter', () => {
  it.each([
    ['node1', true],
    ['NODE', true],
    ['10.0.100', true],
    ['52:54:00:12', true],
    ['sn-1 r1', true],
    ['r1 absent', false],
    ['state:active', true],
    ['state:failed', false],
    ['-state:failed', true],
    ['-worker', false],
    ['rack:r1 profile:work', true],
    ['tier=gold', true],
    ['  ', true],
    ['-', true],
  ])('%j finds the node: %s', (filter, found) => {
    expect(filterTest(filter)(entryOf({ labels: { tier: 'gold' } }))).toBe(found);
  });
});

describe('the order', () => {
  const names = storeOf({ hostname: 'node10' }, { hostname: 'node9' }, { hostname: 'Node2' });

  it('counts like people do, and turns around', () => {
    expect(shown(names)).toEqual(['Node2', 'node9', 'node10']);
    expect(shown(names, 'sort=-name')).toEqual(['node10', 'node9', 'Node2']);
  });

  it('puts failed nodes first by state, and nodes without a rack last by rack', () => {
    const store = storeOf(
      { hostname: 'a', state: 'active', rack: null },
      { hostname: 'b', state: 'failed', rack: 'r10' },
      { hostname: 'c', state: 'deploying', rack: 'r9' },
    );
    expect(shown(store, 'sort=state')).toEqual(['b', 'c', 'a']);
    expect(shown(store, 'sort=rack')).toEqual(['c', 'b', 'a']);
  });

  it('groups with counts, and ignores what it does not know', () => {
    const store = storeOf({ hostname: 'a', rack: 'r2' }, { hostname: 'b', rack: null }, { hostname: 'c', rack: 'r2' });
    expect(shown(store, 'group=rack')).toEqual(['No rack 1', 'b', 'Rack r2 2', 'a', 'c']);
    expect(shown(store, 'group=nonsense&sort=nonsense&tab=nonsense')).toEqual(['a', 'b', 'c']);
  });

  it('shows a tab, a site and a filter together', () => {
    const store = storeOf(
      { hostname: 'a', state: 'failed', site: 'dc1' },
      { hostname: 'b', state: 'failed', site: 'dc2' },
      { hostname: 'c', state: 'active', health: 'silent', site: 'dc1' },
    );
    expect(shown(store, 'tab=attention')).toEqual(['a', 'b', 'c']);
    expect(shown(store, 'tab=attention&site=dc1')).toEqual(['a', 'c']);
    expect(shown(store, 'tab=missing&q=dc1')).toEqual(['c']);
  });
});

describe('a change', () => {
  const store = storeOf({ hostname: 'a' }, { hostname: 'b' });
  const byName = arrange(store.entries.values(), viewWith(''));
  const active = arrange(store.entries.values(), viewWith('tab=active'));

  it('moves a row only when its place would be another one', () => {
    expect(isMoved('a', entryOf({ hostname: 'a', state: 'failed' }), byName, viewWith(''))).toBe(false);
    expect(isMoved('a', entryOf({ hostname: 'a', state: 'failed' }), active, viewWith('tab=active'))).toBe(true);
    expect(isMoved('c', entryOf({ hostname: 'c' }), byName, viewWith(''))).toBe(true);
    expect(isMoved('a', undefined, byName, viewWith(''))).toBe(true);
    expect(isMoved('c', undefined, byName, viewWith(''))).toBe(false);
  });
});

describe('the counts', () => {
  it('follow changes and removals', () => {
    const store = storeOf({ hostname: 'a' }, { hostname: 'b', state: 'ready' });
    store.put(rowOf({ hostname: 'a', state: 'failed', site: 'dc2' }));
    expect(store.counts).toEqual({ all: 2, attention: 1, progress: 0, active: 0, ready: 1, missing: 0 });
    expect([...store.sites]).toEqual([
      ['lab', 1],
      ['dc2', 1],
    ]);
    store.delete('a');
    store.delete('a');
    expect(store.counts).toMatchObject({ all: 1, attention: 0 });
    store.clear();
    expect([store.counts.all, store.sites.size]).toEqual([0, 0]);
  });

  it('know what is armed', () => {
    const armed = { what: 'deploy', profile: 'worker', by: 'token:ada', until: '2026-01-15T09:00:00.000Z' } as const;
    const store = storeOf({ hostname: 'a', armed });
    expect([...store.armed]).toEqual(['a']);
    store.put(rowOf({ hostname: 'a' }));
    expect(store.armed.size).toBe(0);
  });
});

describe('the window', () => {
  it('contains what is visible and a little more', () => {
    expect(virtualWindow(10_000, 28, 0, 560, 5)).toEqual({ first: 0, end: 25 });
    expect(virtualWindow(10_000, 28, 28 * 100, 560, 5)).toEqual({ first: 95, end: 125 });
    expect(virtualWindow(10_000, 28, 28 * 9_999, 560, 5)).toEqual({ first: 9_994, end: 10_000 });
    expect(virtualWindow(3, 28, 9_000, 560, 5)).toEqual({ first: 3, end: 3 });
    expect(virtualWindow(0, 28, 0, 560, 5)).toEqual({ first: 0, end: 0 });
  });

  it('scrolls only to rows that are outside', () => {
    expect(scrollFor(3, 28, 0, 560)).toBeNull();
    expect(scrollFor(30, 28, 0, 560)).toBe(31 * 28 - 560);
    expect(scrollFor(2, 28, 280, 560)).toBe(56);
  });
});
