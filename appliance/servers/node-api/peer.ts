// Who calls: the certificate of the connection says it, and nothing in the request does.

import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { Authenticate } from '../../api/access.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import { identifyPeer, type PeerRefusal } from '../../identity/node-peer.ts';
import type { CertificateRecord } from '../../store/enrollment-store.ts';
import type { Store } from '../../store/store.ts';

export interface Peer {
  readonly machine: Machine;
  readonly certificate: CertificateRecord;
}

/** Said to whoever has the key of the certificate: the handshake has proved that. */
const SAID: Readonly<Record<PeerRefusal, string>> = {
  'unknown-certificate': 'this certificate is not of this appliance',
  'not-a-node-certificate': 'this certificate is not that of a node',
  revoked: 'this certificate was revoked: the node needs a new bundle',
  expired: 'this certificate has expired: recover with the recovery token',
  'not-yet-valid': 'this certificate is not good yet',
  'authority-retired': 'the authority of this certificate is trusted no longer: recover with the recovery token',
  removed: 'this node was removed: it can only come back as a new one',
};

export interface Peers {
  readonly authenticate: Authenticate;
  /** Of a request that was let in. */
  of(request: FastifyRequest): Peer;
}

type PeerStore = Pick<Store, 'certificate' | 'confirmCertificate' | 'authorities' | 'machine'>;

/** Asked anew for every request: a connection may outlive the right to use it. */
export function createPeers(store: PeerStore, now: () => number): Peers {
  const known = new WeakMap<FastifyRequest, Peer>();

  const identify = async (request: FastifyRequest): Promise<Peer | string> => {
    const { socket } = request.raw;
    const der = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.raw : undefined;
    if (!der) return 'no certificate was shown';
    const verdict = await identifyPeer(store, der, now());
    const machine = verdict.machine === null ? null : await store.machine(verdict.machine);
    if (!verdict.ok) {
      request.log.warn({ node: machine?.spec.hostname ?? null, reason: verdict.reason }, 'a node was refused');
      return SAID[verdict.reason];
    }
    return machine ? { machine, certificate: verdict.certificate } : SAID['unknown-certificate'];
  };

  return {
    authenticate: async (request) => {
      const peer = await identify(request);
      if (typeof peer === 'string') return { known: false, reason: peer, retryAfterSeconds: null };
      known.set(request, peer);
      return { known: true, caller: { actor: `machine:${peer.machine.spec.hostname}`, role: 'node' } };
    },
    of: (request) => {
      const peer = known.get(request);
      if (!peer) throw new ColdironError('unauthenticated', 'no certificate was shown');
      return peer;
    },
  };
}
