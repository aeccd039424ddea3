// Burst sockets on loopback, with peers that record what they received.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { BatchCalls } from '../../../appliance/net/udp/batched-socket.ts';
import { openBurstSocket } from '../../../appliance/net/udp/burst-socket.ts';
import { type Endpoint, endpointOf } from '../../../appliance/net/udp/endpoint.ts';
import type { BurstSocket, OnDatagram } from '../../../appliance/net/udp/udp-socket.ts';

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));

export async function burstSocket(onDatagram: OnDatagram, calls?: BatchCalls | null): Promise<BurstSocket> {
  const socket = await openBurstSocket(LOOPBACK, 0, onDatagram, calls === undefined ? {} : { calls });
  onTestFinished(() => socket.close());
  return socket;
}

export interface Peer {
  readonly endpoint: Endpoint;
  readonly socket: Socket;
  send(text: string, to: BurstSocket): void;
  /** The received texts, once there are `count`. */
  got(count: number): Promise<string[]>;
}

export async function peer(): Promise<Peer> {
  const socket = createSocket({ type: 'udp4', lookup: (host, _options, found) => found(null, host, 4) });
  const texts: string[] = [];
  const waiting: (() => void)[] = [];
  socket.on('message', (bytes) => {
    texts.push(bytes.toString('latin1'));
    for (const notify of waiting.splice(0)) notify();
  });
  const listening = once(socket, 'listening');
  socket.bind(0, LOOPBACK);
  await listening;
  onTestFinished(async () => {
    const closed = once(socket, 'close');
    socket.close();
    await closed;
  });
  return {
    endpoint: endpointOf({ address: LOOPBACK, port: socket.address().port }),
    socket,
    send: (text, to) => socket.send(text, to.port, to.address),
    got: async (count) => {
      while (texts.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return texts;
    },
  };
}

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
export const bytes = (content: string): Uint8Array => Buffer.from(content, 'latin1');
