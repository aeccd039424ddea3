// A UDP socket that is read and written many datagrams at a time: Node's own costs more per datagram than the kernel does.
// Node waits for it to become readable and reads the first datagram of a burst; the rest is drained with recvmmsg, and all
// answers leave with sendmmsg.

import type { Socket } from 'node:dgram';
import koffi from 'koffi';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { DatagramBatch, SLOT_BYTES } from './datagram-batch.ts';
import { type Endpoint, endpointOf, peerAt } from './endpoint.ts';
import { Outbox } from './outbox.ts';
import type { BurstSocket, OnDatagram, UdpPeer } from './udp-socket.ts';

/**
 * Answered before more are read: the first of many who asked at once go on while the others are being answered, and none
 * of them, nor a relay that asks for all, is handed more at once than its socket has room for.
 */
const READ_AT_ONCE = 8;
/** Afterwards it is somebody else's turn: Node calls again at once when there is more. */
const MOST_BATCHES_IN_A_TURN = 64;
const MSG_DONTWAIT = 0x40;

export interface BatchCalls {
  recvmmsg(fd: number, headers: number, count: number, flags: number, timeout: null): number;
  sendmmsg(fd: number, headers: number, count: number, flags: number): number;
}

/** null: not on this system. The layout of a batch is that of Linux with 64 bits, lowest byte first. */
export function batchCalls(): BatchCalls | null {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) return null;
  const c = koffi.load(null);
  return {
    recvmmsg: c.func('int recvmmsg(int fd, void *headers, uint32_t count, int flags, void *timeout)'),
    sendmmsg: c.func('int sendmmsg(int fd, void *headers, uint32_t count, int flags)'),
  };
}

export class BatchedSocket implements BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  readonly #fd: number;
  /** Owns the descriptor. */
  readonly #socket: Socket;
  readonly #calls: BatchCalls;
  readonly #onDatagram: OnDatagram;
  readonly #inbox = new DatagramBatch();
  readonly #outbox = new Outbox();
  /** With Node, which waits until the kernel has room. Whatever is sent meanwhile has to queue up behind them. */
  #waiting = 0;
  #receiving = false;
  #flushIsDue = false;
  #open = true;

  /** The socket has taken the descriptor over and is bound. */
  constructor(fd: number, socket: Socket, calls: BatchCalls, onDatagram: OnDatagram) {
    const { address, port } = socket.address();
    this.address = address as Ipv4;
    this.port = port;
    this.#fd = fd;
    this.#socket = socket;
    this.#calls = calls;
    this.#onDatagram = onDatagram;
    socket.on('message', (bytes, { address: host, port: from }) =>
      this.#burst(bytes, { address: host as Ipv4, port: from }),
    );
  }

  send(bytes: Uint8Array, to: Endpoint): void {
    if (!this.#open) return;
    const isLong = bytes.length > SLOT_BYTES;
    if (isLong || this.#outbox.isFull) this.#flush();
    if (isLong || this.#waiting > 0) {
      this.#leaveToNode(bytes, to);
      return;
    }
    this.#outbox.put(bytes, to);
    if (!this.#receiving) this.#flushSoon();
  }

  receive(): void {
    this.#burst(null, null);
  }

  close(): void {
    if (!this.#open) return;
    this.#flush();
    this.#open = false;
    this.#socket.close();
  }

  #burst(first: Uint8Array | null, from: UdpPeer | null): void {
    if (this.#receiving) return;
    this.#receiving = true;
    try {
      if (first && from && first.length <= SLOT_BYTES) this.#onDatagram(first, endpointOf(from));
      for (let batch = 0; batch < MOST_BATCHES_IN_A_TURN && this.#receiveBatch(); batch += 1) this.#flush();
    } finally {
      this.#receiving = false;
      this.#flush();
    }
  }

  /** False when there was nothing. */
  #receiveBatch(): boolean {
    if (!this.#open) return false;
    const count = this.#calls.recvmmsg(this.#fd, this.#inbox.pointerTo(0), READ_AT_ONCE, MSG_DONTWAIT, null);
    for (let slot = 0; slot < count && this.#open; slot += 1) {
      const bytes = this.#inbox.received(slot);
      if (bytes) this.#onDatagram(bytes, this.#inbox.peer(slot));
    }
    return count > 0;
  }

  /** Once this turn has sent all that it has to send. */
  #flushSoon(): void {
    if (this.#flushIsDue) return;
    this.#flushIsDue = true;
    queueMicrotask(() => {
      this.#flushIsDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    // Closed, the descriptor may already be that of another file.
    if (this.#open) this.#outbox.flush(this.#send, this.#leaveToNode);
  }

  readonly #send = (headers: number, count: number): number =>
    this.#calls.sendmmsg(this.#fd, headers, count, MSG_DONTWAIT);

  readonly #leaveToNode = (bytes: Uint8Array, to: Endpoint): void => {
    const { address, port } = peerAt(to);
    this.#waiting += 1;
    this.#socket.send(bytes.slice(), port, address, () => {
      this.#waiting -= 1;
    });
  };
}
