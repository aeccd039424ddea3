// Checks stored events, which any version may have written, against this version's event table.

import { Check } from 'typebox/value';
import type { Event, StoredEvent } from '../event.ts';
import { plainLine } from '../plain-line.ts';
import type { Severity } from './event-row.ts';
import { eventRow } from './event-table.ts';

export const severityOf = (kind: string): Severity => eventRow(kind)?.severity ?? 'info';

/** Null: the kind is unknown here, or its data has another shape. */
export function knownEvent(event: StoredEvent): Event | null {
  const row = eventRow(event.kind);
  return row && Check(row.data, event.data) ? (event as unknown as Event) : null;
}

/** One plain line. Text from a machine can neither break the line nor control a terminal. */
export function eventSentence({ kind, actor, data }: Pick<StoredEvent, 'kind' | 'actor' | 'data'>): string {
  const row = eventRow(kind);
  if (row === null) return plainLine(`Event of kind ${kind}, which this version does not describe`);
  if (!Check(row.data, data)) return plainLine(`Event of kind ${kind}, written by another version`);
  return plainLine(row.sentence(data, actor));
}
