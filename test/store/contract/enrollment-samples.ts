// Authorities, certificates and tokens for the store's tests: fake, but distinguishable.

import { randomUUID } from 'node:crypto';
import { DAY } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type {
  AuthorityRecord,
  EnrollmentTokenId,
  Fingerprint,
  NewCertificate,
  NewEnrollmentToken,
  Redemption,
} from '../../../appliance/store/enrollment-store.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { NOW, newAudit, newEvent } from '../samples.ts';
import type { Recorded } from '../writes.ts';
import { writesTo } from '../writes.ts';

export const fingerprint = (n: number): Fingerprint => n.toString(16).padStart(64, '0') as Fingerprint;

export const authorityNumber = (n: number, changes: Partial<AuthorityRecord> = {}): AuthorityRecord => ({
  id: fingerprint(n),
  state: 'active',
  certificate: `certificate ${n}`,
  crossCertificate: null,
  createdAt: NOW + n,
  notAfter: NOW + 3650 * DAY,
  activatedAt: null,
  retiredAt: null,
  ...changes,
});

export const CREATED = newAudit('authority.created');

/** Stores authority 1 as the active one. */
export const withAuthority = (store: Store): Promise<boolean> =>
  store.createFirstAuthority(authorityNumber(1), CREATED);

export const certificateNumber = (
  n: number,
  machine: Machine | null,
  changes: Partial<NewCertificate> = {},
): NewCertificate => ({
  serial: `abc${n}`,
  fingerprint: fingerprint(1000 + n),
  authority: fingerprint(1),
  kind: machine ? 'node' : 'server',
  machine: machine?.id ?? null,
  notBefore: NOW + n,
  notAfter: NOW + 30 * DAY + n,
  ...changes,
});

export const tokenFor = (machine: Machine, changes: Partial<NewEnrollmentToken> = {}): NewEnrollmentToken => ({
  id: randomUUID().replaceAll('-', '').slice(0, 12) as EnrollmentTokenId,
  machine: machine.id,
  kind: 'enrollment',
  delivery: 'manual',
  actor: 'token:alice',
  createdAt: NOW,
  expiresAt: NOW + DAY,
  certificate: null,
  secretHash: 'f'.repeat(64),
  ...changes,
});

export const recoveryFor = (machine: Machine, certificate: string): NewEnrollmentToken =>
  tokenFor(machine, { kind: 'recovery', delivery: 'node', expiresAt: NOW + 365 * DAY, certificate });

export async function issue(store: Store, token: NewEnrollmentToken, replace = false) {
  return writesTo(store).issueToken(token, replace, newEvent('bundle'), () => newAudit('bundle'));
}

/** The redemption of `token` for certificate `n`. */
export const redemptionOf = (
  machine: Machine,
  token: NewEnrollmentToken,
  n: number,
  changes: Partial<Redemption> = {},
): Redemption & Recorded => ({
  token: token.id,
  machine: machine.id,
  now: NOW + n,
  certificate: certificateNumber(n, machine),
  publicKey: fingerprint(1000 + n),
  recovery: recoveryFor(machine, `abc${n}`),
  event: newEvent('enrollment.enrolled', { machine: machine.id }),
  audit: newAudit('node.enrolled'),
  ...changes,
});
