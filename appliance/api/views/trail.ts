// Events, audit entries and leases as the API shows them.

import type { Static } from 'typebox';
import type { AuditEntry, Event, Lease } from '../../contract/schemas/trail.ts';
import type * as trail from '../../domain/event.ts';
import { instantText } from '../../domain/instant.ts';
import type * as dhcp from '../../domain/lease.ts';

export const eventView = ({
  seq,
  at,
  kind,
  actor,
  machine,
  correlationId,
  onboarding,
  data,
}: trail.StoredEvent): Static<typeof Event.schema> => ({
  seq,
  at: instantText(at),
  kind,
  actor,
  node: machine,
  correlation_id: correlationId,
  onboarding_id: onboarding ?? null,
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
