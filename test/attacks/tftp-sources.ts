// Sockets on addresses of the loopback network, for requests whose senders never answer.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { encodeTftp } from '../../appliance/codecs/tftp/encode.ts';
import { read } from '../servers/tftp/sloppy-client.ts';

/** One sender: it counts what it gets and answers nothing. */
export interface SilentSource {
  readonly address: string;
  /** UDP payload in both directions, without the headers. */
  readonly bytes: { sent: number; received: number };
  readonly packets: { sent: number; received: number };
  send(bytes: Uint8Array, port: number): void;
}

export async function silentSource(address: string): Promise<SilentSource> {
  const socket: Socket = createSocket({ type: 'udp4', lookup: (host, _options, found) => found(null, host, 4) });
  const bytes = { sent: 0, received: 0 };
  const packets = { sent: 0, received: 0 };
  socket.on('message', (datagram) => {
    bytes.received += datagram.length;
    packets.received += 1;
  });
  const listening = once(socket, 'listening');
  socket.bind(0, address);
  await listening;
  onTestFinished(() => void socket.close());
  return {
    address,
    bytes,
    packets,
    send: (datagram, port) => {
      bytes.sent += datagram.length;
      packets.sent += 1;
      socket.send(datagram, port, '127.0.0.1');
    },
  };
}

export const readRequest = (fileName: string, options: Readonly<Record<string, string>> = {}): Uint8Array =>
  encodeTftp(read(fileName, options));
