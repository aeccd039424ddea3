// Receivers of exported events, and dead letters.

import { Type } from 'typebox';
import { component, nullable, PageSize, refTo, Time } from './shared.ts';
import { Event } from './trail.ts';

const closed = { additionalProperties: false } as const;

export const Receiver = component(
  'Receiver',
  Type.Object({
    name: Type.String(),
    kind: Type.Enum(['webhook', 'loki', 'syslog']),
    target: Type.String({ description: 'Its URL or address' }),
    state: Type.Enum(['delivering', 'waiting', 'unreachable', 'starting'], {
      description:
        'delivering: everything was delivered, or is being delivered; waiting: the last attempt failed; unreachable: several in a row did',
    }),
    cursor: nullable(Type.Integer({ description: 'The last event that is done' })),
    newest: nullable(Type.Integer({ description: 'The last event of the log' })),
    lag_events: nullable(Type.Integer({ description: 'Events after the cursor, also those that it does not select' })),
    lag_seconds: nullable(Type.Integer({ description: 'The age of the oldest of them; 0: there is none' })),
    delivered: Type.Integer(),
    lost: Type.Integer({ description: 'Events that were deleted before they could be delivered' }),
    dead_letters: Type.Integer(),
    last_success_at: nullable(Time),
    failing_since: nullable(Time),
    last_error: nullable(Type.String()),
    next_attempt_at: nullable(Time),
  }),
);

export const ReceiverReference = Type.Object(
  { receiver: Type.String({ description: 'Its name in the site file' }) },
  closed,
);

export const DeadLetterFilter = Type.Object(
  {
    after: Type.Optional(Type.Integer({ minimum: 0, description: 'Only events after this one' })),
    limit: PageSize(100, 1000),
  },
  closed,
);

export const DeadLettersAnswer = Type.Object({
  dead_letters: Type.Array(
    Type.Object({
      event: refTo(Event),
      at: Time,
      attempts: Type.Integer(),
      reason: Type.String({ description: 'What the receiver answered last' }),
      replay: Type.Boolean({ description: 'It waits to be sent again' }),
    }),
  ),
  next: nullable(Type.Integer()),
});

export const ReplayBody = Type.Object(
  {
    events: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 10_000, description: 'Left out: all' }),
    ),
  },
  closed,
);

export const ReplayAnswer = Type.Object({ replaying: Type.Integer({ description: 'How many will be sent again' }) });
