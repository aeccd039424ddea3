// Events, audit entries and leases as the API shows them.

import { Type } from 'typebox';
import { SEVERITIES } from '../../domain/events/event-row.ts';
import { component, nullable, PageSize, Time } from './shared.ts';

export const Event = component(
  'Event',
  Type.Object({
    seq: Type.Integer(),
    at: Time,
    kind: Type.String(),
    actor: Type.String(),
    node: nullable(Type.String({ description: 'The id of the node' })),
    hostname: nullable(
      Type.String({ description: 'The name of the node now; null: no node, or one that is not known any more' }),
    ),
    severity: Type.Enum([...SEVERITIES]),
    sentence: Type.String({ description: 'For a person: one plain line' }),
    correlation_id: nullable(Type.String()),
    onboarding_id: nullable(Type.String({ description: 'The onboarding run that was open for its node' })),
    data: Type.Unknown({ description: 'May contain text from a machine' }),
  }),
);

export const AuditEntry = component(
  'AuditEntry',
  Type.Object({
    seq: Type.Integer(),
    at: Time,
    actor: Type.String(),
    action: Type.String(),
    target: Type.String(),
    correlation_id: nullable(Type.String()),
    before: Type.Unknown(),
    after: Type.Unknown(),
    previous_hash: Type.String(),
    hash: Type.String(),
  }),
);

export const AuditVerdict = Type.Object({
  intact: Type.Boolean(),
  entries: Type.Integer(),
  head: Type.Optional(Type.String({ description: 'Hash of the last entry, when intact' })),
  seq: Type.Optional(Type.Integer({ description: 'The first entry that fails verification' })),
  reason: Type.Optional(Type.String()),
});

export const Lease = component(
  'Lease',
  Type.Object({
    address: Type.String(),
    mac: Type.String(),
    network: Type.String(),
    state: Type.Enum(['bound', 'released', 'declined']),
    granted_at: Time,
    expires_at: Time,
    held: Type.Boolean({ description: 'Whether the client may use the address now' }),
    hostname: nullable(Type.String({ description: 'The node with this MAC address, if there is one' })),
  }),
);

const page = {
  after: Type.Optional(Type.Integer({ minimum: 0, description: '`next` of the previous page' })),
  limit: PageSize(100, 1000),
  newest: Type.Optional(Type.Boolean({ description: 'The newest entries, oldest first' })),
};

const CorrelationId = Type.Optional(
  Type.String({ maxLength: 64, description: 'The X-Correlation-Id of one request: only what it did' }),
);

export const EventFilter = Type.Object(
  {
    node: Type.Optional(Type.String({ description: 'Id, host name or MAC address' })),
    kind: Type.Optional(Type.String({ description: 'A kind and its subkinds: `lifecycle`' })),
    correlation_id: CorrelationId,
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60,
        description: 'Seconds to wait for an event when there is none yet; with `after`',
      }),
    ),
    ...page,
  },
  { additionalProperties: false },
);

export const AuditFilter = Type.Object({ correlation_id: CorrelationId, ...page }, { additionalProperties: false });
