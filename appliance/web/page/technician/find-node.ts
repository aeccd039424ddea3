// Finds the node that a technician means: what a label, a barcode or a person says. Pure.

import type { Row } from '../live/row.ts';
import { unitNumber } from '../racks/rack-layout.ts';

const MOST_FOUND = 20;

/** `aa-bb…`, `aabb.ccdd…` and `aa:bb…` are the same address. */
const bare = (text: string): string => text.toLowerCase().replace(/[^0-9a-z]/g, '');

/** A scanned label is the link of a node's technician page. */
export function nameInLink(text: string): string | null {
  const found = /\/t\/([^/?#\s]+)\/?$/.exec(text.trim());
  if (!found?.[1]) return null;
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return null;
  }
}

/** `r12 7`, `r12/7`, `r12 u7`: a rack and a unit. */
function placeIn(text: string): { readonly rack: string; readonly unit: number } | null {
  const found = /^(\S+?)[\s/:,]+u?(\d{1,2})$/i.exec(text.trim());
  const unit = unitNumber(found?.[2] ?? null);
  return found?.[1] === undefined || unit === null ? null : { rack: found[1].toLowerCase(), unit };
}

/** Exact matches first: name, serial number, MAC address, place. Then what contains the text. */
export function findNodes(rows: Iterable<Row>, text: string): Row[] {
  const wanted = nameInLink(text) ?? text.trim();
  if (wanted === '') return [];
  const key = bare(wanted);
  const at = placeIn(wanted);
  const exact: Row[] = [];
  const similar: Row[] = [];
  for (const row of rows) {
    if (row.state === 'removed') continue;
    const values = [row.hostname, row.serial, row.mac, row.id].map((value) => bare(value ?? ''));
    const isThere = at !== null && row.rack?.toLowerCase() === at.rack && unitNumber(row.unit) === at.unit;
    if (isThere || (key !== '' && values.includes(key))) exact.push(row);
    else if (key.length >= 3 && values.some((value) => value.includes(key))) similar.push(row);
  }
  return (exact.length > 0 ? exact : similar).slice(0, MOST_FOUND);
}
