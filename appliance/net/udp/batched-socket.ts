// A UDP socket that reads and writes many datagrams per system call: Node's own costs more per datagram than the kernel does.
// Node waits for it to become readable and reads the first datagram of a burst; recvmmsg drains the rest, and all replies are
// sent with sendmmsg.

import type { Socket } from 'node:dgram';
import koffi from 'koffi';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { DatagramBatch, SLOT_BYTES } from './datagram-batch.ts';
import { type Endpoint, endpointOf, peerAt, portOf } from './endpoint.ts';
import { type Part, wholeOf } from './held-bytes.ts';
import { Outbox } from './outbox.ts';
import type { BurstSocket, OnDatagram, OnLost, UdpPeer } from './udp-socket.ts';

/**
 * Replies are sent before more is read: the first clients of a burst continue while the others are answered, and no client, and
 * no relay in front of all of them, is sent more at once than its socket buffer holds.
 */
const READ_AT_ONCE = 8;
/** A dedicated thread reads more per call: fewer calls, and each of its clients has its own socket. */
const READ_AT_ONCE_LINGERING = 32;
/** Then the event loop continues: Node calls again at once when there is more. */
const MOST_BATCHES_IN_A_TURN = 64;
/** How long a lingering socket waits for the next datagram, and how long one turn may block its thread. */
const LINGER_MS = 2;
const LINGERING_TURN_MS = 4;
const MSG_DONTWAIT = 0x40;
const POLLIN = 1;

export interface BatchCalls {
  poll(descriptors: number, count: number, milliseconds: number): number;
  recvmmsg(fd: number, headers: number, count: number, flags: number, timeout: null): number;
  sendmmsg(fd: number, headers: number, count: number, flags: number): number;
}

/** null: not supported on this system. The layout of a batch is that of 64-bit little-endian Linux. */
export function batchCalls(): BatchCalls | null {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) return null;
  const c = koffi.load(null);
  return {
    poll: c.func('int poll(void *descriptors, uint64_t count, int milliseconds)'),
    recvmmsg: c.func('int recvmmsg(int fd, void *headers, uint32_t count, int flags, void *timeout)'),
    sendmmsg: c.func('int sendmmsg(int fd, void *headers, uint32_t count, int flags)'),
  };
}

export interface BatchedSocketOptions {
  /**
   * After a burst, wait for more with poll(2). It costs a third of a return to Node, and blocks the thread meanwhile: only for a
   * dedicated thread.
   */
  readonly lingers?: boolean;
  /**
   * Many datagrams to one peer may cross virtual links (veth) as a single frame. Sockets do not notice; programs that read raw
   * frames do, such as udhcpc and ISC's DHCP relay: they see one long datagram.
   */
  readonly joins?: boolean;
  /** This datagram was not sent, and will not be retried. */
  readonly onLost?: OnLost;
}

export class BatchedSocket implements BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  readonly #fd: number;
  /** Owns the file descriptor. */
  readonly #socket: Socket;
  readonly #calls: BatchCalls;
  readonly #onDatagram: OnDatagram;
  readonly #onLost: OnLost;
  readonly #inbox = new DatagramBatch();
  readonly #outbox: Outbox;
  /** For `poll`; null: only Node waits. */
  readonly #lingersOn: PollDescriptor | null;
  /** Datagrams queued at Node until the kernel has room. Later datagrams must queue behind them. */
  #waiting = 0;
  /** Result of the last recvmmsg; below zero: none. */
  #received = 0;
  #receiving = false;
  #flushIsDue = false;
  #open = true;

  /** The socket is bound and owns the descriptor. */
  constructor(
    fd: number,
    socket: Socket,
    calls: BatchCalls,
    onDatagram: OnDatagram,
    { lingers = false, joins = true, onLost = () => undefined }: BatchedSocketOptions = {},
  ) {
    const { address, port } = socket.address();
    this.address = address as Ipv4;
    this.port = port;
    this.#fd = fd;
    this.#socket = socket;
    this.#calls = calls;
    this.#onDatagram = onDatagram;
    this.#onLost = onLost;
    this.#outbox = new Outbox(joins);
    this.#lingersOn = lingers ? new PollDescriptor(fd, POLLIN) : null;
    socket.on('message', (bytes, { address: host, port: from }) =>
      this.#burst(bytes, { address: host as Ipv4, port: from }),
    );
  }

  send(bytes: Uint8Array, to: Endpoint): void {
    if (!this.#open || !hasPort(to)) return;
    const isLong = bytes.length > SLOT_BYTES;
    if (isLong || this.#outbox.isFull) this.#flush();
    if (isLong || this.#waiting > 0) {
      this.#sendWithNode(bytes, to);
      return;
    }
    this.#outbox.put(bytes, to);
    if (!this.#receiving) this.#flushSoon();
  }

  sendPart(part: Part, to: Endpoint): void {
    if (!this.#open || !hasPort(to)) return;
    if (this.#outbox.isFull) this.#flush();
    if (this.#waiting > 0) {
      this.#sendWithNode(wholeOf(part), to);
      return;
    }
    this.#outbox.putPart(part, to);
    if (!this.#receiving) this.#flushSoon();
  }

  receive(): void {
    this.#turn(() => this.#drain());
  }

  close(): void {
    if (!this.#open) return;
    this.#flush();
    this.#open = false;
    this.#socket.close();
  }

  #burst(first: Uint8Array, from: UdpPeer): void {
    this.#turn(() => {
      if (first.length <= SLOT_BYTES) this.#deliver(first, endpointOf(from));
      this.#drain();
      if (this.#lingersOn) this.#linger(this.#lingersOn);
    });
  }

  #turn(receive: () => void): void {
    if (this.#receiving) return;
    this.#receiving = true;
    try {
      receive();
    } finally {
      this.#receiving = false;
      this.#flush();
    }
  }

  #deliver(bytes: Uint8Array, from: Endpoint): void {
    if (hasPort(from)) this.#onDatagram(bytes, from);
  }

  #drain(): void {
    for (let batch = 0; batch < MOST_BATCHES_IN_A_TURN && this.#receiveBatch(); batch += 1) this.#flush();
    this.#flush();
  }

  #linger(on: PollDescriptor): void {
    const until = performance.now() + LINGERING_TURN_MS;
    // Node sends what is queued there. After a datagram was received there may be more already; otherwise wait for one.
    while (this.#open && this.#waiting === 0 && (this.#received > 0 || this.#waitFor(on))) {
      this.#drain();
      if (performance.now() >= until) break;
    }
  }

  #waitFor(on: PollDescriptor): boolean {
    return this.#calls.poll(on.address, 1, LINGER_MS) > 0;
  }

  /** False when the socket is drained: fewer arrived than there was room for. */
  #receiveBatch(): boolean {
    if (!this.#open) return false;
    const most = this.#lingersOn ? READ_AT_ONCE_LINGERING : READ_AT_ONCE;
    const count = this.#calls.recvmmsg(this.#fd, this.#inbox.pointerTo(0), most, MSG_DONTWAIT, null);
    this.#received = count;
    for (let slot = 0; slot < count && this.#open; slot += 1) {
      const bytes = this.#inbox.received(slot);
      if (bytes) this.#deliver(bytes, this.#inbox.peer(slot));
    }
    return count === most;
  }

  /** At the end of this turn, with everything that it sends. */
  #flushSoon(): void {
    if (this.#flushIsDue) return;
    this.#flushIsDue = true;
    queueMicrotask(() => {
      this.#flushIsDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    // After close the descriptor may already belong to another file.
    if (this.#open) this.#outbox.flush(this.#send, this.#sendWithNode, this.#onLost);
  }

  readonly #send = (headers: number, count: number): number =>
    this.#calls.sendmmsg(this.#fd, headers, count, MSG_DONTWAIT);

  readonly #sendWithNode = (bytes: Uint8Array, to: Endpoint): void => {
    const { address, port } = peerAt(to);
    this.#waiting += 1;
    this.#socket.send(bytes.slice(), port, address, (error) => {
      this.#waiting -= 1;
      if (error) this.#onLost((error as NodeJS.ErrnoException).code ?? error.message, to);
    });
  };
}

/** RFC 768: source port 0 means that no reply is expected. The kernel and Node both refuse to send to port 0. */
const hasPort = (peer: Endpoint): boolean => portOf(peer) !== 0;

/** struct pollfd. */
class PollDescriptor {
  readonly #bytes = new Int32Array(2);
  readonly address = Number(koffi.address(this.#bytes));

  constructor(fd: number, events: number) {
    this.#bytes.set([fd, events]);
  }
}
