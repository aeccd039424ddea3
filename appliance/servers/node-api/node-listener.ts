// Where the node API listens, and the certificate that it shows: renewed before it ends, and whenever its names or the
// authority that signs have changed. Connections that are open stay open.

import { Server } from 'node:tls';
import type { App, TlsFiles } from '../../api/base-app.ts';
import { SECOND } from '../../domain/instant.ts';
import type { ServerCredentials } from '../../identity/authority.ts';
import { apiNames, type NodeApiAddress } from '../../identity/node-addresses.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { listenOnTcp } from '../../net/listen.ts';
import type { NodeApiDeps } from './dependencies.ts';
import { buildNodeApp } from './node-app.ts';

export interface NodeListenerDeps extends Omit<NodeApiDeps, 'tls' | 'stopping'> {
  readonly fleet: Fleet;
}

export interface NodeListener {
  readonly address: string;
  /** Looks whether another certificate is due. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

const HANDSHAKE_LIMIT = 10 * SECOND;
/** Bodies are small; who sends one byte at a time keeps nobody's place. */
const REQUEST_LIMIT = 20 * SECOND;

export async function startNodeApi(deps: NodeListenerDeps, at: NodeApiAddress): Promise<NodeListener> {
  const { fleet, enrollment } = deps;
  const current = (): Promise<ServerCredentials> =>
    enrollment.authority.serverCredentials(apiNames(fleet, at), { actor: 'appliance', correlationId: null });

  let shown = await current();
  const stopping = new AbortController();
  const edge = { tls: tlsOf(shown), stopping: stopping.signal, requestTimeout: REQUEST_LIMIT };
  const app = await buildNodeApp({ ...deps, ...edge });
  const { address, stop } = await listenOnTcp(app, at);
  const port = Number(address.split(':').at(-1));

  const renew = async (): Promise<void> => {
    const next = await current();
    if (next.chainPem === shown.chainPem && next.trustPem === shown.trustPem) return;
    shown = next;
    showFrom(app, next);
  };
  enrollment.setNodeApi({ address: at.address, port }, renew);

  return {
    address,
    renew,
    stop: async () => {
      stopping.abort();
      await stop();
    },
  };
}

/**
 * A certificate is asked for and never insisted on: who enrolls has none yet, and who shows one that has ended is told so. The
 * handshake still proves that the peer has its key; whether it counts is looked up for each request.
 */
const tlsOf = ({ chainPem, keyPem, trustPem }: ServerCredentials): TlsFiles => ({
  cert: chainPem,
  key: keyPem,
  ca: trustPem,
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  handshakeTimeout: HANDSHAKE_LIMIT,
});

function showFrom(app: App, credentials: ServerCredentials): void {
  const { server } = app;
  if (server instanceof Server) server.setSecureContext(tlsOf(credentials));
}
