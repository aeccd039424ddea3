// Identifies the peer of a mutual TLS connection: the handshake verifies the chain, this code checks that the certificate is
// still valid in the store.

import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { CertificateRecord, Fingerprint } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import { fingerprintOf } from './fingerprint.ts';

export type PeerRefusal =
  | 'unknown-certificate'
  | 'not-a-node-certificate'
  | 'revoked'
  | 'expired'
  | 'not-yet-valid'
  | 'authority-retired'
  | 'removed';

export type PeerVerdict =
  | { readonly ok: true; readonly machine: MachineId; readonly certificate: CertificateRecord }
  | { readonly ok: false; readonly reason: PeerRefusal; readonly machine: MachineId | null };

type PeerStore = Pick<Store, 'certificate' | 'confirmCertificate' | 'authorities' | 'machine'>;

/** `der` is the peer's certificate (`socket.getPeerX509Certificate()?.raw`). Its first use is recorded. */
export async function identifyPeer(store: PeerStore, der: Uint8Array, now: Instant): Promise<PeerVerdict> {
  const certificate = await store.certificate(fingerprintOf(der));
  if (!certificate) return { ok: false, reason: 'unknown-certificate', machine: null };
  const { machine } = certificate;
  if (certificate.kind !== 'node' || machine === null) return { ok: false, reason: 'not-a-node-certificate', machine };
  const reason =
    (await removal(store, machine)) ??
    certificateProblem(certificate, now) ??
    (await issuerProblem(store, certificate));
  if (reason !== null) return { ok: false, reason, machine };
  if (certificate.confirmedAt === null) await store.confirmCertificate(certificate.serial, now);
  return { ok: true, machine, certificate };
}

/** Why a certificate that was accepted before is not any more; null: it is. */
export async function certificateRefusal(
  store: Pick<Store, 'certificate' | 'authorities'>,
  fingerprint: Fingerprint,
  now: Instant,
): Promise<PeerRefusal | null> {
  const certificate = await store.certificate(fingerprint);
  if (!certificate) return 'unknown-certificate';
  return certificateProblem(certificate, now) ?? issuerProblem(store, certificate);
}

function certificateProblem(certificate: CertificateRecord, now: Instant): PeerRefusal | null {
  if (certificate.revokedAt !== null) return 'revoked';
  if (now < certificate.notBefore) return 'not-yet-valid';
  return now < certificate.notAfter ? null : 'expired';
}

/** Checked first: removal also revokes the certificate, but the hint to get a new bundle would be wrong. */
async function removal(store: PeerStore, machine: MachineId): Promise<PeerRefusal | null> {
  return (await store.machine(machine))?.lifecycle.state === 'removed' ? 'removed' : null;
}

async function issuerProblem(
  store: Pick<Store, 'authorities'>,
  { authority }: CertificateRecord,
): Promise<PeerRefusal | null> {
  const issuer = (await store.authorities()).find(({ id }) => id === authority);
  return issuer?.state === 'retired' ? 'authority-retired' : null;
}
