// Every event that a test's real flow writes fits its schema, and has no field that the event table does not list.

import { Errors } from 'typebox/value';
import type { StoredEvent } from '../../../appliance/domain/event.ts';
import { eventRow } from '../../../appliance/domain/events/event-table.ts';

export function checkedEvent<E extends { readonly kind: string; readonly data: unknown }>(event: E): E {
  const row = eventRow(event.kind);
  if (row === null) throw new Error(`no event of kind ${event.kind} is in the table`);
  const [problem] = Errors(row.data, event.data);
  const told = JSON.stringify(event.data);
  if (problem) throw new Error(`${event.kind}: ${problem.instancePath} ${problem.message}: ${told}`);
  const stranger = Object.keys(event.data as object).find((field) => !Object.hasOwn(row.data.properties, field));
  if (stranger !== undefined) throw new Error(`${event.kind}: the table has no field ${stranger}: ${told}`);
  return event;
}

/** At the end of a test with a store of its own. */
export async function checkStoredEvents(store: {
  events(query: { limit: number }): Promise<readonly StoredEvent[]>;
}): Promise<void> {
  for (const event of await store.events({ limit: 100_000 })) checkedEvent(event);
}
