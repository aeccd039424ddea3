// The list: only the visible rows are in the document. Rows change in place; their order changes when nobody is at the list, or
// when the reader asks for it.

import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { type KeyBinding, useKeys } from '../keys.ts';
import { connection, fleet, onRows, revision } from '../live/live.ts';
import { icon } from '../parts/icon.ts';
import { navigate, pathTo, setQuery } from '../router.ts';
import { plural } from '../text.ts';
import { FleetRow } from './fleet-row.ts';
import { selection, setSelection, toggle } from './selection.ts';
import { type Arrangement, arrange, type Item, isMoved, type Sort, type View } from './view.ts';
import { scrollFor, virtualWindow } from './virtual-window.ts';

/** Above this size, arranging again while rows stream in would cost frames: the reader asks for it. */
const ARRANGED_ALONE = 2000;
const ARRANGE_EVERY_MS = 1000;

/** The row height of the style sheet, which differs between desktop and phone. */
const rowHeight = (): number => Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));

interface Arranged {
  readonly arrangement: Arrangement;
  /** Rows whose place is out of date. */
  readonly moved: ReadonlySet<string>;
}

function useArrangement(view: View, isBusy: () => boolean): Arranged & { readonly again: () => void } {
  const key = JSON.stringify(view);
  const fresh = (): Arranged => ({ arrangement: arrange(fleet.entries.values(), view), moved: new Set() });
  const [arranged, setArranged] = useState<Arranged>(fresh);
  const state = useRef({ arranged, view, last: 0, timer: 0 });
  state.current.arranged = arranged;
  state.current.view = view;
  const again = (): void => {
    state.current.last = performance.now();
    setArranged({ arrangement: arrange(fleet.entries.values(), state.current.view), moved: new Set() });
  };
  // A snapshot arrives in parts: it is arranged when it is complete.
  useLayoutEffect(again, [key, connection.value]);
  useEffect(() => {
    const attempt = (): void => {
      state.current.timer = 0;
      const { arranged: shown } = state.current;
      if (shown.moved.size > 0 && shown.arrangement.items.length <= ARRANGED_ALONE && !isBusy()) again();
    };
    const unsubscribe = onRows((names) => {
      const { arranged: shown, view: now } = state.current;
      let moved: Set<string> | null = null;
      const added: Item[] = [];
      for (const name of names) {
        const entry = fleet.entries.get(name);
        if (!isMoved(name, entry, shown.arrangement, now)) continue;
        moved ??= new Set(shown.moved);
        if (entry !== undefined && !shown.arrangement.keys.has(name) && !shown.moved.has(name)) {
          added.push({ kind: 'row', hostname: name });
        }
        moved.add(name);
      }
      if (moved === null) return;
      // The first rows of a page that was just opened need no announcement.
      if (shown.arrangement.items.length === 0) return again();
      const items = added.length === 0 ? shown.arrangement.items : [...shown.arrangement.items, ...added];
      setArranged({ arrangement: { ...shown.arrangement, items }, moved });
      if (state.current.timer !== 0) return;
      const wait = Math.max(0, state.current.last + ARRANGE_EVERY_MS - performance.now());
      state.current.timer = window.setTimeout(attempt, wait);
    });
    // What arrived before this component was there.
    again();
    return () => {
      unsubscribe();
      clearTimeout(state.current.timer);
    };
  }, []);
  return { ...arranged, again };
}

const COLUMNS: readonly { readonly id: string; readonly label: string; readonly sort?: Sort }[] = [
  { id: 'name', label: 'Name', sort: 'name' },
  { id: 'state', label: 'State', sort: 'state' },
  { id: 'what', label: 'What it does or waits for' },
  { id: 'rack', label: 'Rack', sort: 'rack' },
  { id: 'profile', label: 'Profile', sort: 'profile' },
  { id: 'address', label: 'Address' },
  { id: 'since', label: 'Since', sort: 'since' },
];

export function FleetList({ view }: { view: View }): VNode {
  const grid = useRef<HTMLDivElement>(null);
  const pointer = useRef(false);
  const [current, setCurrent] = useState<string | null>(null);
  const isBusy = (): boolean =>
    pointer.current || selection.peek().size > 0 || grid.current?.contains(document.activeElement) === true;
  const { arrangement, moved, again } = useArrangement(view, isBusy);
  const [scroll, setScroll] = useState({ top: 0, height: 800 });
  const height = useMemo(rowHeight, [scroll.height]);
  void revision.value;

  useLayoutEffect(() => {
    const element = grid.current;
    if (!element) return;
    const measure = (): void => setScroll({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const { items } = arrangement;
  const move = (by: number): void => {
    const rows = items.flatMap((item, index) => (item.kind === 'row' ? [{ name: item.hostname, index }] : []));
    const at = rows.findIndex(({ name }) => name === current);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at === -1 ? 0 : at + by))];
    const element = grid.current;
    if (!next || !element) return;
    setCurrent(next.name);
    const top = scrollFor(next.index, height, element.scrollTop, element.clientHeight - HEAD);
    if (top !== null) element.scrollTop = top;
  };
  const latest = useRef({ move, current });
  latest.current = { move, current };
  useKeys(
    useMemo((): KeyBinding[] => {
      const onCurrent = (run: (name: string) => void) => () => {
        if (latest.current.current !== null) run(latest.current.current);
      };
      return [
        { keys: 'j', does: 'next row', run: () => latest.current.move(1) },
        { keys: 'k', does: 'previous row', run: () => latest.current.move(-1) },
        { keys: 'x', does: 'select the row', run: onCurrent(toggle) },
        { keys: 'Enter', does: 'open the node', run: onCurrent((node) => navigate(pathTo('node', { node }))) },
        { keys: 'Escape', does: 'clear the selection', run: () => setSelection(new Set()) },
        { keys: 'r', does: 'sort again', run: again },
      ];
    }, []),
  );

  const shown = virtualWindow(items.length, height, scroll.top, scroll.height);
  const chosen = selection.value;
  return html`<div class="fleet-list">
    ${
      moved.size > 0 &&
      html`<button type="button" class="changed" onClick=${again}>
      ${icon('refresh')}${plural(moved.size, 'row')} changed, sort again
    </button>`
    }
    <div
      class="fleet-grid"
      ref=${grid}
      role="grid"
      tabindex="0"
      aria-label="Nodes"
      aria-rowcount=${items.length + 1}
      aria-colcount=${COLUMNS.length + 1}
      aria-multiselectable="true"
      onScroll=${(event: Event) => {
        const { scrollTop, clientHeight } = event.target as HTMLElement;
        setScroll({ top: scrollTop, height: clientHeight });
      }}
      onPointerEnter=${() => (pointer.current = true)}
      onPointerLeave=${() => (pointer.current = false)}
    >
      <${Head} view=${view} items=${items} />
      <div class="fleet-rows" role="rowgroup" style=${{ height: `${items.length * height}px` }}>
        <div class="fleet-window" role="presentation" style=${{ transform: `translateY(${shown.first * height}px)` }}>
          ${items.slice(shown.first, shown.end).map((item, at) => {
            if (item.kind === 'group') {
              return html`<div class="fleet-group" role="row" aria-rowindex=${shown.first + at + 2} key=${`group ${item.name}`}>
                <div role="gridcell">${item.name} <span class="count">${item.count.toLocaleString('en')}</span></div>
              </div>`;
            }
            const entry = fleet.entries.get(item.hostname);
            if (!entry) {
              return html`<div class="fleet-row gone" role="row" aria-rowindex=${shown.first + at + 2} key=${item.hostname}>
                <div role="gridcell" class="cell-name">${item.hostname}</div><div role="gridcell">removed</div>
              </div>`;
            }
            return html`<${FleetRow}
              key=${item.hostname}
              entry=${entry}
              index=${shown.first + at}
              selected=${chosen.has(item.hostname)}
              current=${item.hostname === current}
            />`;
          })}
        </div>
      </div>
    </div>
  </div>`;
}

/** Height of the header row in pixels. */
const HEAD = 30;

function Head({ view, items }: { view: View; items: readonly Item[] }): VNode {
  const names = useMemo(() => items.flatMap((item) => (item.kind === 'row' ? [item.hostname] : [])), [items]);
  const chosen = selection.value;
  const all = names.length > 0 && chosen.size >= names.length && names.every((name) => chosen.has(name));
  const some = chosen.size > 0 && !all;
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some;
  }, [some]);
  const sortBy = (sort: Sort): void => {
    const down = view.sort === sort && !view.descending;
    setQuery({ sort: sort === 'name' && !down ? null : `${down ? '-' : ''}${sort}` });
  };
  return html`<div class="fleet-head" role="row" aria-rowindex="1">
    <div role="columnheader" class="cell-check">
      <input
        ref=${box}
        type="checkbox"
        checked=${all}
        aria-label=${`Select all ${plural(names.length, 'shown row')}`}
        onClick=${() => setSelection(all ? new Set() : new Set(names))}
      />
    </div>
    ${COLUMNS.map(({ id, label, sort }) => {
      const direction = sort !== view.sort ? undefined : view.descending ? 'descending' : 'ascending';
      return html`<div role="columnheader" class=${`cell-${id}`} aria-sort=${direction} key=${id}>
        ${
          sort === undefined
            ? label
            : html`<button type="button" onClick=${() => sortBy(sort)}>
              ${label}${direction && html`<span class=${direction}>${icon('chevron')}</span>`}
            </button>`
        }
      </div>`;
    })}
  </div>`;
}
