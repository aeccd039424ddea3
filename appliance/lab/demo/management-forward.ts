// Forwards a port on the host's loopback to the management API of an appliance in the rack's network. Requests still need a token.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import type { RackNetwork } from '../rack/network.ts';
import { NetworkProgram } from './network-program.ts';

export interface ManagementForward {
  readonly url: string;
  close(): Promise<void>;
}

const MANAGEMENT = '127.0.0.1:8443';
const POLL_EVERY_MS = 20;
const START_TIMEOUT_MS = 10_000;

/** `conflict` when the port is in use. */
export async function openManagementForward(network: RackNetwork, port: number): Promise<ManagementForward> {
  const socketFile = network.file('management');
  const forwarder = new NetworkProgram(network, [
    'socat',
    `UNIX-LISTEN:${socketFile},fork,mode=0600`,
    `TCP4:${MANAGEMENT}`,
  ]);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(socketFile);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => open.delete(from));
      from.pipe(to);
    }
  });
  const close = async (): Promise<void> => {
    server.close();
    for (const socket of open) socket.destroy();
    await forwarder.end();
  };
  try {
    await waitUntilReachable(socketFile, forwarder);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    await close();
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ColdironError('conflict', `port ${port} of 127.0.0.1 is in use by another program`);
  }
  const address = server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `http://127.0.0.1:${boundPort}`, close };
}

async function waitUntilReachable(socketFile: string, forwarder: NetworkProgram): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const socket = connect(socketFile);
    const reached = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (reached) return;
    if (forwarder.isOver || performance.now() > deadline) {
      throw new ColdironError('service_unavailable', 'socat does not forward the management API of the rack');
    }
    await pause(POLL_EVERY_MS);
  }
}
