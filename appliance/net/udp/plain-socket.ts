// A burst socket with Node's own API, for systems without the known C library: slower, otherwise equal.

import type { Socket } from 'node:dgram';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { type Endpoint, endpointOf, peerAt } from './endpoint.ts';
import { type Part, wholeOf } from './held-bytes.ts';
import type { BurstSocket, OnDatagram } from './udp-socket.ts';

/** For the requests of some hundred clients while the process is busy; the kernel may grant less. */
const RECEIVE_BUFFER_BYTES = 1024 * 1024;

export class PlainSocket implements BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  readonly #socket: Socket;
  #open = true;

  /** The socket is bound. */
  constructor(socket: Socket, onDatagram: OnDatagram) {
    const { address, port } = socket.address();
    this.address = address as Ipv4;
    this.port = port;
    this.#socket = socket;
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    socket.on('message', (bytes, from) =>
      onDatagram(bytes, endpointOf({ address: from.address as Ipv4, port: from.port })),
    );
  }

  send(bytes: Uint8Array, to: Endpoint): void {
    const { address, port } = peerAt(to);
    // RFC 768: source port 0 means that no reply is expected; Node throws.
    if (this.#open && port !== 0) this.#socket.send(bytes.slice(), port, address);
  }

  sendPart(part: Part, to: Endpoint): void {
    this.send(wholeOf(part), to);
  }

  /** Node has no call for it. */
  receive(): void {}

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#socket.close();
  }
}
