// Enrollment tokens, certificates and authorities as the API shows them.

import type { Static } from 'typebox';
import type { AuthorityView, Certificate, EnrollmentTokenView, Holder } from '../../contract/schemas/enrollment.ts';
import { instantText } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import { shownFingerprint } from '../../identity/fingerprint.ts';
import type { AuthorityRecord, CertificateRecord, EnrollmentToken } from '../../store/enrollment-store.ts';
import { timeText } from './time-text.ts';

export const enrollmentTokenView = (token: EnrollmentToken): Static<typeof EnrollmentTokenView> => ({
  id: token.id,
  kind: token.kind,
  delivery: token.delivery,
  handed_to: token.actor,
  created_at: instantText(token.createdAt),
  expires_at: instantText(token.expiresAt),
  consumed_at: timeText(token.consumedAt),
  revoked_at: timeText(token.revokedAt),
});

export const certificateView = (certificate: CertificateRecord): Static<typeof Certificate> => ({
  serial: certificate.serial,
  kind: certificate.kind,
  authority: shownFingerprint(certificate.authority),
  fingerprint: shownFingerprint(certificate.fingerprint),
  not_before: instantText(certificate.notBefore),
  not_after: instantText(certificate.notAfter),
  shown_at: timeText(certificate.confirmedAt),
  revoked_at: timeText(certificate.revokedAt),
  revoked_because: certificate.revokedBecause,
  replaced_by: certificate.replacedBy,
});

export const authorityView = (authority: AuthorityRecord): Static<typeof AuthorityView> => ({
  fingerprint: shownFingerprint(authority.id),
  state: authority.state,
  certificate: authority.certificate,
  created_at: instantText(authority.createdAt),
  not_after: instantText(authority.notAfter),
});

export const holderView = (
  { machine, kind, serial, notAfter }: CertificateRecord,
  find: (id: NonNullable<CertificateRecord['machine']>) => Machine | null,
): Static<typeof Holder> => ({
  holder: machine === null ? 'appliance' : (find(machine)?.spec.hostname ?? machine),
  kind,
  serial,
  not_after: instantText(notAfter),
});
