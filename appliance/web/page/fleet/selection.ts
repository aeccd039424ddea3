// Which nodes are selected. A small selection is in the URL, so that a link shows it; a large one would make the URL too long.

import { signal } from '@preact/signals';
import { fleet } from '../live/live.ts';
import type { Row } from '../live/row.ts';
import { place, setQuery } from '../router.ts';

export const selection = signal<ReadonlySet<string>>(new Set());

const IN_URL = 40;

export function setSelection(names: ReadonlySet<string>): void {
  selection.value = names;
  setQuery({ sel: names.size > 0 && names.size <= IN_URL ? [...names].join(',') : null });
}

export function readSelection(): void {
  const named = place.peek().query.get('sel');
  selection.value = new Set(named === null ? [] : named.split(',').filter(Boolean));
}

export function toggle(name: string): void {
  const next = new Set(selection.peek());
  if (!next.delete(name)) next.add(name);
  setSelection(next);
}

export const selectedRows = (): Row[] => [...selection.value].flatMap((name) => fleet.entries.get(name)?.row ?? []);
