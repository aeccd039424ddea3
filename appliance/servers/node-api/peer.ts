// Authenticates a node by the client certificate of its connection only, never by the content of a request.

import { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { Authenticate } from '../../api/access.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { identifyPeer, type PeerRefusal } from '../../identity/node-peer.ts';
import type { CertificateRecord } from '../../store/enrollment-store.ts';
import type { Store } from '../../store/store.ts';

export interface Peer {
  readonly machine: Machine;
  readonly certificate: CertificateRecord;
}

/** For the holder of the certificate's key: the handshake has proved possession. */
const REFUSAL_MESSAGE: Readonly<Record<PeerRefusal, string>> = {
  'unknown-certificate': 'this certificate was not issued by this appliance',
  'not-a-node-certificate': 'this certificate is not a node certificate',
  revoked: 'this certificate was revoked: the node needs a new bundle',
  expired: 'this certificate has expired: recover with the recovery token',
  'not-yet-valid': 'this certificate is not valid yet: check the clock of the node',
  'authority-retired': 'the authority of this certificate is no longer trusted: recover with the recovery token',
  removed: 'this node was removed: register and enroll it as a new node',
};

export interface Peers {
  readonly authenticate: Authenticate;
  /** The peer of an authenticated request. */
  of(request: FastifyRequest): Peer;
}

export interface PeerListener {
  /** Told of each request of a node. */
  readonly heard: (machine: Machine) => void;
  /** Told of each certificate that was not accepted. */
  readonly refused: (request: FastifyRequest, code: string, words: string) => void;
}

/** What it showed, so that the log says which certificate was refused. Subject and issuer are not verified, and come from the client. */
function clientCertificate(der: Buffer): Readonly<Record<string, string>> {
  const { fingerprint256, serialNumber, issuer, subject, validFrom, validTo } = new X509Certificate(der);
  const line = (text: string | undefined): string => plainLine((text ?? '').replaceAll('\n', ', ')).slice(0, 200);
  return {
    fingerprint: fingerprint256,
    serial: serialNumber.toLowerCase(),
    issuer: line(issuer),
    subject: line(subject),
    not_before: validFrom,
    not_after: validTo,
  };
}

type PeerStore = Pick<Store, 'certificate' | 'confirmCertificate' | 'authorities' | 'machine'>;

/** Checked for every request: a connection may outlive the validity of its certificate. */
export function createPeers(store: PeerStore, now: () => number, { heard, refused }: PeerListener): Peers {
  const known = new WeakMap<FastifyRequest, Peer>();

  const identify = async (request: FastifyRequest): Promise<Peer | string> => {
    const { socket } = request.raw;
    const der = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.raw : undefined;
    if (!der) {
      request.log.warn({ node: null, reason: 'no-certificate' }, 'a node was refused');
      return 'the client sent no certificate';
    }
    const verdict = await identifyPeer(store, der, now());
    const machine = verdict.machine === null ? null : await store.machine(verdict.machine);
    if (!verdict.ok) {
      const about = { node: machine?.spec.hostname ?? null, reason: verdict.reason, ...clientCertificate(der) };
      request.log.warn(about, 'a node was refused');
      refused(request, verdict.reason, REFUSAL_MESSAGE[verdict.reason]);
      return REFUSAL_MESSAGE[verdict.reason];
    }
    return machine ? { machine, certificate: verdict.certificate } : REFUSAL_MESSAGE['unknown-certificate'];
  };

  return {
    authenticate: async (request) => {
      const peer = await identify(request);
      if (typeof peer === 'string') return { known: false, reason: peer, retryAfterSeconds: null };
      known.set(request, peer);
      heard(peer.machine);
      return { known: true, caller: { actor: `machine:${peer.machine.spec.hostname}`, role: 'node' } };
    },
    of: (request) => {
      const peer = known.get(request);
      if (!peer) throw new ColdironError('unauthenticated', 'the client sent no certificate');
      return peer;
    },
  };
}
