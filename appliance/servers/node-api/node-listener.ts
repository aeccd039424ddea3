// The listener of the node API and its certificate: renewed before it expires, and whenever its names or the signing
// authority change. Open connections stay open.

import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { Server } from 'node:tls';
import type { App, TlsFiles } from '../../api/base-app.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { ServerCredentials } from '../../identity/authority.ts';
import { apiNames, type NodeApiAddress } from '../../identity/node-addresses.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { listenOnTcp } from '../../net/listen.ts';
import type { Trail } from '../../trail/trail.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import { buildNodeApp } from './node-app.ts';
import { NodeContacts } from './node-contacts.ts';

export interface NodeListenerDeps extends Omit<NodeApiDeps, 'tls' | 'stopping' | 'contacts'> {
  readonly fleet: Fleet;
  readonly trail: Trail;
  readonly machineAt: (address: string) => MachineId | null;
}

export interface CertificateValidity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

export interface NodeListener {
  readonly address: string;
  readonly port: number;
  /** Of the certificate in use. */
  validity(): CertificateValidity;
  readonly contacts: Pick<NodeContacts, 'at'>;
  /** Replaces the certificate if a new one is due. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

const HANDSHAKE_LIMIT = 10 * SECOND;
/** Bodies are small; a client that sends one byte at a time must not occupy a connection. */
const REQUEST_LIMIT = 20 * SECOND;

export async function startNodeApi(deps: NodeListenerDeps, at: NodeApiAddress): Promise<NodeListener> {
  const { fleet, enrollment, trail, machineAt, now } = deps;
  const current = (): Promise<ServerCredentials> =>
    enrollment.authority.serverCredentials(apiNames(fleet, at), { actor: 'appliance', correlationId: null });

  let credentials = await current();
  const stopping = new AbortController();
  const edge = { tls: tlsOf(credentials), stopping: stopping.signal, requestTimeout: REQUEST_LIMIT };
  const contacts = new NodeContacts({ trail, machineAt, now, validity: () => validityOf(credentials) });
  const app = await buildNodeApp({ ...deps, ...edge, contacts });
  followConnections(app, contacts);
  const { address, stop } = await listenOnTcp(app, at);
  const port = Number(address.split(':').at(-1));

  const renew = async (): Promise<void> => {
    const next = await current();
    if (next.chainPem === credentials.chainPem && next.trustPem === credentials.trustPem) return;
    credentials = next;
    useCredentials(app, next);
  };
  enrollment.setNodeApi({ address: at.address, port }, renew);

  return {
    address,
    port,
    renew,
    validity: () => validityOf(credentials),
    contacts,
    stop: async () => {
      stopping.abort();
      await stop();
    },
  };
}

/**
 * A client certificate is requested but not required: a node that enrolls has none yet, and one with an expired certificate
 * gets an error message. The handshake still proves possession of the key; validity is checked for each request.
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

/** A TLS socket that has failed no longer knows its peer; the TCP socket below it does, if it was asked before. */
interface FailedSocket {
  readonly remoteAddress?: string | undefined;
  readonly _parent?: { readonly remoteAddress?: string | undefined } | null;
}

function followConnections({ server }: App, contacts: NodeContacts): void {
  server.on('connection', (socket: Socket) => contacts.connected(socket.remoteAddress));
  server.on('secureConnection', (socket: Socket) => contacts.secured(socket.remoteAddress));
  server.on('tlsClientError', (error: Error, socket: FailedSocket) =>
    contacts.failed(socket._parent?.remoteAddress ?? socket.remoteAddress, error),
  );
}

function useCredentials(app: App, credentials: ServerCredentials): void {
  const { server } = app;
  if (server instanceof Server) server.setSecureContext(tlsOf(credentials));
}

/** The first certificate of the chain is the server's own. */
function validityOf({ chainPem }: ServerCredentials): CertificateValidity {
  const { validFromDate, validToDate } = new X509Certificate(chainPem);
  return { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
}
