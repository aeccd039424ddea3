import { setImmediate } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import type { Event, Json, NewEvent, StoredEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { EventQuery } from '../store.ts';
import { CHUNK_ROWS, inChunks } from './chunks.ts';
import { advance, readCounters } from './counters.ts';
import { eventLabels } from './event-labels.ts';
import type { EventTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

/** Returns the events with their sequence numbers. */
export async function insertEvents(trx: Writer, events: readonly NewEvent[]): Promise<Event[]> {
  if (events.length === 0) return [];
  const first = (await advance(trx, 'event', events.length)) - events.length + 1;
  const labelsOf = await eventLabels(trx, events);
  const labelled = events.map((event): NewEvent => {
    const { correlationId, onboarding } = labelsOf(event);
    return { ...event, correlationId, ...(onboarding !== null && { onboarding }) };
  });
  const rows = labelled.map((event, index) => ({
    seq: first + index,
    at: event.at,
    kind: event.kind,
    actor: event.actor,
    machine: event.machine,
    correlation_id: event.correlationId,
    onboarding_id: event.onboarding ?? null,
    data: JSON.stringify(event.data),
  }));
  await inChunks(rows, (chunk) => trx.insertInto('events').values(chunk).execute());
  return labelled.map((event, index): Event => ({ ...event, seq: first + index }));
}

export async function readEvents(db: Reader, query: EventQuery): Promise<StoredEvent[]> {
  const { machine, kind, after, limit, newest = false, correlationId } = query;
  let select = db
    .selectFrom('events')
    .selectAll()
    .orderBy('seq', newest ? 'desc' : 'asc')
    .limit(limit);
  if (machine !== undefined) select = select.where('machine', '=', machine);
  if (correlationId !== undefined) select = select.where('correlation_id', '=', correlationId);
  if (after !== undefined) select = select.where('seq', '>', after);
  if (kind !== undefined) {
    // "/" is the character after ".": the range contains every text that begins with the kind and a dot.
    select = select.where((eb) =>
      eb.or([eb('kind', '=', kind), eb.and([eb('kind', '>', `${kind}.`), eb('kind', '<', `${kind}/`)])]),
    );
  }
  const events = (await select.execute()).map(toEvent);
  return newest ? events.reverse() : events;
}

export async function deleteEvents(trx: Writer, before: Instant, most?: number): Promise<number> {
  // The numbers have no gaps when they are assigned.
  const lastTooMany = most === undefined ? 0 : (await readCounters(trx)).event - most;
  for (let deleted = 0; ; await setImmediate()) {
    const result = await trx
      .deleteFrom('events')
      .where('seq', 'in', (eb) =>
        eb
          .selectFrom('events')
          .select('seq')
          .where((each) => each.or([each('at', '<', before), each('seq', '<=', lastTooMany)]))
          .limit(CHUNK_ROWS * 10),
      )
      .executeTakeFirst();
    if (result.numDeletedRows === 0n) return deleted;
    deleted += Number(result.numDeletedRows);
  }
}

function toEvent(row: Selectable<EventTable>): StoredEvent {
  return {
    seq: row.seq,
    at: row.at,
    kind: row.kind,
    actor: row.actor,
    machine: row.machine === null ? null : mustParse(parseMachineId(row.machine)),
    correlationId: row.correlation_id,
    ...(row.onboarding_id !== null && { onboarding: row.onboarding_id }),
    data: JSON.parse(row.data) as Json,
  };
}
