// Free loopback ports for programs that need a port number in advance or reuse their port. They are outside the ephemeral range of
// the kernel, so that no other socket gets one by chance.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 10_000;
const COUNT = 22_000;
const LOOPBACK = '127.0.0.1';

/** Each process starts at another port. */
let next = (process.pid * 61) % COUNT;

/** A port without a TCP or UDP listener; the next call returns another one. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries += 1) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if ((await isFree(port, onTcp)) && (await isFree(port, onUdp))) return port;
  }
  throw new Error('every port is taken');
}

async function isFree(port: number, open: (port: number) => Promise<void>): Promise<boolean> {
  try {
    await open(port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

async function onTcp(port: number): Promise<void> {
  const server = createServer();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

async function onUdp(port: number): Promise<void> {
  const socket = createSocket('udp4');
  socket.bind(port, LOOPBACK);
  await once(socket, 'listening');
  socket.close();
  await once(socket, 'close');
}
