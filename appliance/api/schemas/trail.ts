// Events, audit entries and leases as the API shows them.

import { type Static, Type } from 'typebox';
import type * as trail from '../../domain/event.ts';
import { instantText } from '../../domain/instant.ts';
import type * as dhcp from '../../domain/lease.ts';
import { component, nullable, Time } from './shared.ts';

export const Event = component(
  'Event',
  Type.Object({
    seq: Type.Integer(),
    at: Time,
    kind: Type.String(),
    actor: Type.String(),
    node: nullable(Type.String({ description: 'The id of the node' })),
    correlation_id: nullable(Type.String()),
    data: Type.Unknown(),
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
  seq: Type.Optional(Type.Integer({ description: 'The first entry that is not right' })),
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

export const eventView = ({
  seq,
  at,
  kind,
  actor,
  machine,
  correlationId,
  data,
}: trail.StoredEvent): Static<typeof Event.schema> => ({
  seq,
  at: instantText(at),
  kind,
  actor,
  node: machine,
  correlation_id: correlationId,
  data,
});

export const auditView = ({
  at,
  correlationId,
  previousHash,
  ...entry
}: trail.AuditEntry): Static<typeof AuditEntry.schema> => ({
  ...entry,
  at: instantText(at),
  correlation_id: correlationId,
  previous_hash: previousHash,
});

export const leaseView = (
  { address, mac, network, state, grantedAt, expiresAt }: dhcp.Lease,
  now: { held: boolean; hostname: string | null },
): Static<typeof Lease.schema> => ({
  address,
  mac,
  network,
  state,
  granted_at: instantText(grantedAt),
  expires_at: instantText(expiresAt),
  ...now,
});
