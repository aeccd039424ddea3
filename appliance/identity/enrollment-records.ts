// Events and audit entries of enrollment. They contain no secrets: tokens appear as ids, certificates as serials.

import { type Json, type NewAuditEntry, type NewEvent, newEvent, type Origin } from '../domain/event.ts';
import type { EventData, EventKind } from '../domain/events/event-table.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { EnrollmentToken, Fingerprint, NewCertificate, SigningKeyId } from '../store/enrollment-store.ts';
import { shownFingerprint } from './fingerprint.ts';

export const auditOf = (
  action: string,
  target: string,
  at: Instant,
  { actor, correlationId }: Origin,
  after: Json,
  before: Json = null,
): NewAuditEntry => ({ at, actor, action, target, correlationId, before, after });

export const eventOf = <Kind extends EventKind>(
  kind: Kind,
  machine: MachineId,
  at: Instant,
  { actor, correlationId }: Origin,
  data: EventData<Kind>,
): NewEvent => newEvent({ at, actor, machine, correlationId }, kind, data);

export const authorityAudit = (
  action: string,
  id: Fingerprint,
  at: Instant,
  origin: Origin,
  after: Json = null,
): NewAuditEntry => auditOf(action, `authority:${shownFingerprint(id)}`, at, origin, after);

export const certificateAudit = (
  certificate: NewCertificate,
  target: string,
  at: Instant,
  origin: Origin,
): NewAuditEntry => auditOf('certificate.issued', target, at, origin, certificateJson(certificate));

export const certificateJson = ({
  serial,
  kind,
  fingerprint,
  authority,
  notAfter,
}: NewCertificate): EventData<'enrollment.enrolled'> => ({
  serial,
  kind,
  fingerprint: shownFingerprint(fingerprint),
  authority: shownFingerprint(authority),
  not_after: instantText(notAfter),
});

export const tokenJson = (
  token: Pick<EnrollmentToken, 'id' | 'kind' | 'delivery' | 'actor' | 'createdAt' | 'expiresAt'>,
): EventData<'enrollment.bundle_handed_over'> => ({
  token: token.id,
  kind: token.kind,
  delivery: token.delivery,
  handed_to: token.actor,
  handed_over_at: instantText(token.createdAt),
  expires_at: instantText(token.expiresAt),
});

export const signingKeyAudit = (
  action: string,
  id: SigningKeyId,
  at: Instant,
  origin: Origin,
  after: Json = null,
): NewAuditEntry => auditOf(action, `task-signing-key:${id}`, at, origin, after);
