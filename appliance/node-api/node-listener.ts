// Where the node API listens, and the certificate that it shows: renewed before it ends, and whenever its names or the
// authority that signs have changed. Connections that are open stay open.

import { Server } from 'node:tls';
import type { App, TlsFiles } from '../api/base-app.ts';
import type { ServerCredentials } from '../enrollment/authority.ts';
import { apiNames, type NodeApiPlace } from '../enrollment/node-place.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { listenOnTcp } from '../servers/listen.ts';
import type { NodeApiDependencies } from './dependencies.ts';
import { buildNodeApp } from './node-app.ts';

export interface NodeListenerDependencies extends Omit<NodeApiDependencies, 'tls' | 'stopping'> {
  readonly fleet: Fleet;
}

export interface NodeListener {
  readonly address: string;
  /** Looks whether another certificate is due. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

/** It is taken over when this much of its time is left, so that a failure has time to be noticed. */
const SHARE_LEFT = 1 / 3;

export async function startNodeApi(deps: NodeListenerDependencies, at: NodeApiPlace): Promise<NodeListener> {
  const { fleet, enrollment, now } = deps;
  const { authority, settings } = enrollment;
  const names = () => apiNames(fleet, at);
  const issue = async (): Promise<Shown> => ({
    credentials: await authority.serverCredentials(names(), { actor: 'appliance', correlationId: null }),
    subject: await subject(),
  });
  const subject = async (): Promise<string> =>
    JSON.stringify([(await authority.trust()).active, names().map((name) => Object.values(name).join(':'))]);

  let shown = await issue();
  let trusted = shown.credentials.trustPem;
  const stopping = new AbortController();
  const app = await buildNodeApp({ ...deps, tls: tlsOf(shown.credentials), stopping: stopping.signal });
  const { address, stop } = await listenOnTcp(app, at);
  const port = Number(address.split(':').at(-1));

  const renew = async (): Promise<void> => {
    const due = now() > shown.credentials.notAfter - settings.serverLifetime * SHARE_LEFT;
    const { pem } = await authority.trust();
    if (due || (await subject()) !== shown.subject) shown = await issue();
    else if (pem === trusted) return;
    trusted = pem;
    showFrom(app, { ...shown.credentials, trustPem: pem });
  };
  enrollment.listens({ address: at.address, port }, renew);

  return {
    address,
    renew,
    stop: async () => {
      stopping.abort();
      await stop();
    },
  };
}

interface Shown {
  readonly credentials: ServerCredentials;
  /** Who signed it, and for which names. */
  readonly subject: string;
}

/**
 * A certificate is asked for and never insisted on: who enrolls has none yet, and who shows one that has ended is told so. The
 * handshake still proves that the peer has its key; whether it counts is looked up for each request.
 */
const tlsOf = ({
  chainPem,
  keyPem,
  trustPem,
}: Pick<ServerCredentials, 'chainPem' | 'keyPem' | 'trustPem'>): TlsFiles => ({
  cert: chainPem,
  key: keyPem,
  ca: trustPem,
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
});

function showFrom(app: App, credentials: Pick<ServerCredentials, 'chainPem' | 'keyPem' | 'trustPem'>): void {
  const { server } = app;
  if (server instanceof Server) server.setSecureContext(tlsOf(credentials));
}
