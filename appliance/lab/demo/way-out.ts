// The management API of an appliance in the rack's network, on this machine's loopback: requests still need a token.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import type { RackNetwork } from '../rack/network.ts';
import { NetworkProgram } from './network-program.ts';

export interface WayOut {
  readonly url: string;
  close(): Promise<void>;
}

const MANAGEMENT = '127.0.0.1:8443';
const LOOK_EVERY_MS = 20;
const UP_WITHIN_MS = 10_000;

/** `conflict` when the port is taken. */
export async function openWayOut(network: RackNetwork, port: number): Promise<WayOut> {
  const door = network.file('management');
  const carrier = new NetworkProgram(network, ['socat', `UNIX-LISTEN:${door},fork,mode=0600`, `TCP4:${MANAGEMENT}`]);
  const open = new Set<Socket>();
  const server = createServer((outside) => {
    const inside = connect(door);
    for (const [from, to] of [
      [outside, inside],
      [inside, outside],
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
    await carrier.end();
  };
  try {
    await isThere(door, carrier);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    await close();
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ColdironError('conflict', `port ${port} of 127.0.0.1 is taken by another program`);
  }
  const address = server.address();
  const taken = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `http://127.0.0.1:${taken}`, close };
}

async function isThere(door: string, carrier: NetworkProgram): Promise<void> {
  const deadline = performance.now() + UP_WITHIN_MS;
  for (;;) {
    const socket = connect(door);
    const reached = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (reached) return;
    if (carrier.isOver || performance.now() > deadline) {
      throw new ColdironError('service_unavailable', 'socat does not carry the management API out of the rack');
    }
    await pause(LOOK_EVERY_MS);
  }
}
