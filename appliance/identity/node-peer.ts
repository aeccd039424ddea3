// Who is at the other end of a mutual TLS connection: the handshake says that the certificate is ours, this says whether it
// still counts.

import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { CertificateRecord } from '../store/enrollment-store.ts';
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

/** `der` is the certificate the peer showed (`socket.getPeerX509Certificate()?.raw`). Its first use is written down. */
export async function identifyPeer(store: PeerStore, der: Uint8Array, now: Instant): Promise<PeerVerdict> {
  const certificate = await store.certificate(fingerprintOf(der));
  if (!certificate) return { ok: false, reason: 'unknown-certificate', machine: null };
  const { machine } = certificate;
  if (certificate.kind !== 'node' || machine === null) return { ok: false, reason: 'not-a-node-certificate', machine };
  // Removal revokes the certificate too, and is the better answer.
  const isRemoved = (await store.machine(machine))?.lifecycle.state === 'removed';
  const reason = isRemoved
    ? 'removed'
    : (certificateProblem(certificate, now) ?? (await authorityProblem(store, certificate)));
  if (reason !== null) return { ok: false, reason, machine };
  if (certificate.confirmedAt === null) await store.confirmCertificate(certificate.serial, now);
  return { ok: true, machine, certificate };
}

function certificateProblem(certificate: CertificateRecord, now: Instant): PeerRefusal | null {
  if (certificate.revokedAt !== null) return 'revoked';
  if (now < certificate.notBefore) return 'not-yet-valid';
  return now < certificate.notAfter ? null : 'expired';
}

async function authorityProblem(store: PeerStore, { authority }: CertificateRecord): Promise<PeerRefusal | null> {
  const issuer = (await store.authorities()).find(({ id }) => id === authority);
  return issuer?.state === 'retired' ? 'authority-retired' : null;
}
