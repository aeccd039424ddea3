// The event stream: its query, and the data of each message.

import { type Static, Type } from 'typebox';
import { SEVERITIES } from '../../domain/events/event-row.ts';
import { FleetRow } from './fleet-row.ts';
import { refTo, Time } from './shared.ts';
import type { Event } from './trail.ts';

const closed = { additionalProperties: false } as const;

const Cursor = Type.Integer({ minimum: 0, description: 'The number of the last event before this message' });

export const StreamQuery = Type.Object(
  {
    node: Type.Optional(Type.String({ description: 'Only this node: id, host name or MAC address' })),
    site: Type.Optional(Type.String({ description: 'Only nodes of this site' })),
    kind: Type.Optional(Type.String({ description: 'Only events of this kind and its subkinds: `lifecycle`' })),
    severity: Type.Optional(Type.Enum([...SEVERITIES], { description: 'Only events of this severity and worse' })),
    snapshot: Type.Optional(
      Type.Enum(['nodes', 'none'], {
        description:
          '`nodes`: first a row of every node, then rows that change (default). `none`: no rows, only events',
      }),
    ),
    events: Type.Optional(
      Type.Enum(['all', 'none'], { description: '`none`: only rows, no events. `all`: both (default)' }),
    ),
    after: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Begin after the event with this number, as Last-Event-ID does' }),
    ),
  },
  closed,
);

export const FleetAnswer = Type.Object({
  rows: Type.Array(refTo(FleetRow), { description: 'Ordered by host name' }),
  cursor: Cursor,
});

const Ready = Type.Object({ cursor: Cursor, time: Time });

const Reset = Type.Object({
  reason: Type.String({ description: 'Why events are missing before this message' }),
  cursor: Cursor,
});

const End = Type.Object({ reason: Type.String() });

/** The data of each message, by its `event:` line. */
export interface StreamMessages {
  /** Rows that are new or have changed; at most 500. */
  readonly nodes: readonly Static<typeof FleetRow.schema>[];
  /** Host names of nodes that are no longer in this view. */
  readonly gone: readonly string[];
  /** Its `id:` line is the number of the event. */
  readonly event: Static<typeof Event.schema>;
  /** The whole snapshot was sent; what follows are changes. */
  readonly ready: Static<typeof Ready>;
  /** The requested id is not in the log any more: load again what depends on events. */
  readonly reset: Static<typeof Reset>;
  /** The appliance closes the stream. */
  readonly end: Static<typeof End>;
}

export const STREAM_DESCRIPTION = `Server-Sent Events. Messages by their event line:
nodes: an array of FleetRow, at most 500; first the snapshot, then rows that change.
gone: an array of host names that are no longer in this view.
event: an Event; its id line is the number of the event.
ready: {cursor, time}; the snapshot is complete.
reset: {reason, cursor}; the requested id is not in the log any more.
end: {reason}; the appliance closes the stream.
A comment line is sent every 15 seconds. Reconnect with Last-Event-ID to miss nothing.`;

export const EventStream = Type.String({ description: STREAM_DESCRIPTION });
