// Checks that events written in a test match their schema and have no field that the event table does not list.

import { Errors } from 'typebox/value';
import type { StoredEvent } from '../../../appliance/domain/event.ts';
import { eventRow } from '../../../appliance/domain/events/event-table.ts';

export function checkedEvent<E extends { readonly kind: string; readonly data: unknown }>(event: E): E {
  const row = eventRow(event.kind);
  if (row === null) throw new Error(`the event table has no kind ${event.kind}`);
  const [problem] = Errors(row.data, event.data);
  const text = JSON.stringify(event.data);
  if (problem) throw new Error(`${event.kind}: ${problem.instancePath} ${problem.message}: ${text}`);
  const unlisted = Object.keys(event.data as object).find((field) => !Object.hasOwn(row.data.properties, field));
  if (unlisted !== undefined) throw new Error(`${event.kind}: the table has no field ${unlisted}: ${text}`);
  return event;
}

/** For the end of a test with its own store. */
export async function checkStoredEvents(store: {
  events(query: { limit: number }): Promise<readonly StoredEvent[]>;
}): Promise<void> {
  for (const event of await store.events({ limit: 100_000 })) checkedEvent(event);
}
