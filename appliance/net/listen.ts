// Listening of the HTTP servers, and graceful shutdown: no new requests, a grace period for those in progress, then disconnect.

import { chmod, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ColdironError } from '../domain/errors.ts';

type HttpApp = Pick<FastifyInstance, 'listen' | 'close'> & { readonly server: Server };

const GRACE_MS = 1500;

async function closeSoon(app: HttpApp): Promise<void> {
  const graceTimer = setTimeout(() => app.server.closeAllConnections(), GRACE_MS);
  app.server.closeIdleConnections();
  await app.close();
  clearTimeout(graceTimer);
}

export async function listenOnTcp(
  app: HttpApp,
  { address, port }: { readonly address: string; readonly port: number },
): Promise<{ address: string; stop: () => Promise<void> }> {
  try {
    await app.listen({ host: address, port });
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, `${address}:${port}`);
  }
  const bound = app.server.address() as AddressInfo;
  return { address: `${bound.address}:${bound.port}`, stop: () => closeSoon(app) };
}

/** sun_path of Linux holds 108 bytes with its NUL; longer paths fail with an obscure message. */
const LONGEST_SOCKET_PATH = 107;

/** One appliance per state folder: a socket that accepts connections belongs to a running one; any other is stale. */
export async function claimSocket(path: string): Promise<string> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH) {
    throw new ColdironError(
      'invalid_config',
      `the path of the state folder is too long: ${path} has more than ${LONGEST_SOCKET_PATH} bytes`,
    );
  }
  const answers = await new Promise<boolean>((resolve) => {
    const attempt = connect({ path }, () => {
      attempt.destroy();
      resolve(true);
    });
    attempt.on('error', () => resolve(false));
  });
  if (answers)
    throw new ColdironError(
      'conflict',
      `an appliance already runs with this state folder: ${path} accepts connections`,
    );
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
  });
  return path;
}

export async function listenOnSocket(app: HttpApp, path: string): Promise<() => Promise<void>> {
  try {
    await app.listen({ path });
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, path);
  }
  await chmod(path, 0o600);
  return () => closeSoon(app);
}

/** Keyed by the error code of bind(2). */
const CANNOT_LISTEN: Readonly<Record<string, { readonly reason: string; readonly hint: string }>> = {
  EADDRINUSE: {
    reason: 'another program listens there already',
    hint: 'Stop the program that uses the port (ss -tulnp names it), or set another port in the site file; then start again.',
  },
  EADDRNOTAVAIL: {
    reason: 'this machine does not have that address',
    hint: 'Add the address to this machine, or set one that it has in the site file; then start again.',
  },
  EACCES: {
    reason: 'ports below 1024 need root or CAP_NET_BIND_SERVICE',
    hint: 'Start it as root or with CAP_NET_BIND_SERVICE, or set a port above 1023 in the site file.',
  },
};

export function cannotListen(error: NodeJS.ErrnoException, where: string): ColdironError {
  const known = CANNOT_LISTEN[error.code ?? ''];
  return new ColdironError(
    'service_unavailable',
    `cannot listen on ${where}: ${known?.reason ?? error.message}`,
    [],
    known?.hint ?? 'Correct the listen addresses in the site file, then start again.',
  );
}
