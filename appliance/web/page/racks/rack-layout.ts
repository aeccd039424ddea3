// Racks from the rows of the fleet: which node is in which unit, from the labels `rack` and `unit`. Pure.

import { naturalKey, type Row } from '../live/row.ts';

/** A unit of a rack, counted from the bottom as on the rails. */
export interface RackUnit {
  readonly unit: number;
  /** More than one: they claim the same unit. */
  readonly rows: readonly Row[];
}

export interface Rack {
  readonly name: string;
  readonly site: string | null;
  /** From the top to the bottom. */
  readonly units: readonly RackUnit[];
  /** Nodes of the rack without a usable unit. */
  readonly elsewhere: readonly Row[];
  readonly rows: readonly Row[];
}

const STANDARD_UNITS = 42;
const MOST_UNITS = 60;

/** `12`, `u12`, `U12`, `12-13` (the lowest unit counts); null: no unit. */
export function unitNumber(text: string | null): number | null {
  const digits = /^\s*u?\s*(\d{1,2})\b/i.exec(text ?? '')?.[1];
  const unit = digits === undefined ? 0 : Number(digits);
  return unit >= 1 && unit <= MOST_UNITS ? unit : null;
}

/** A rack is named by its site too: two sites may both have a rack 12. */
const keyOf = ({ site, rack }: Row): string => `${site ?? ''}\n${rack}`;

export function racksOf(rows: Iterable<Row>): Rack[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    if (row.rack === null || row.state === 'removed') continue;
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return [...groups.values()]
    .map(rackOf)
    .sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : sortKey(one) > sortKey(other) ? 1 : 0));
}

const sortKey = ({ site, name }: Rack): string => `${site ?? ''}\n${naturalKey(name)}`;

function rackOf(rows: readonly Row[]): Rack {
  const byUnit = new Map<number, Row[]>();
  const elsewhere: Row[] = [];
  for (const row of rows) {
    const unit = unitNumber(row.unit);
    if (unit === null) elsewhere.push(row);
    else byUnit.set(unit, [...(byUnit.get(unit) ?? []), row]);
  }
  const height = byUnit.size === 0 ? 0 : Math.max(STANDARD_UNITS, ...byUnit.keys());
  const units = Array.from({ length: height }, (_, at) => ({
    unit: height - at,
    rows: byUnit.get(height - at) ?? [],
  }));
  const [first] = rows;
  return { name: first?.rack ?? '', site: first?.site ?? null, units, elsewhere, rows };
}

/** Free units between two nodes are drawn as one gap, so that a rack fits on a screen. */
export type Slot =
  | { readonly kind: 'unit'; readonly unit: RackUnit }
  | { readonly kind: 'gap'; readonly from: number; readonly to: number };

export function slotsOf(units: readonly RackUnit[]): Slot[] {
  const slots: Slot[] = [];
  for (const unit of units) {
    const last = slots.at(-1);
    if (unit.rows.length > 0) slots.push({ kind: 'unit', unit });
    else if (last?.kind === 'gap') slots[slots.length - 1] = { ...last, to: unit.unit };
    else slots.push({ kind: 'gap', from: unit.unit, to: unit.unit });
  }
  return slots;
}

/** Why a node is not where it should be, in words; null: nothing is known against its place. */
export function misplaced(row: Row): string | null {
  if (row.cabling?.verdict === 'another-port') return row.cabling.summary;
  return null;
}

/** Declared, and never seen or not heard from. */
export const isMissing = (row: Row): boolean =>
  row.health === 'silent' || (row.state === 'registered' && row.health === 'unknown');
