// A UDP socket that is read and written many datagrams at a time: Node's own costs more per datagram than the kernel does.
// Node waits for it to become readable and reads the first datagram of a burst; the rest is drained with recvmmsg, and all
// answers leave with sendmmsg.

import type { Socket } from 'node:dgram';
import koffi from 'koffi';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { DatagramBatch, SLOT_BYTES } from './datagram-batch.ts';
import { type Endpoint, endpointOf, peerAt, portOf } from './endpoint.ts';
import { type Part, wholeOf } from './held-bytes.ts';
import { Outbox } from './outbox.ts';
import type { BurstSocket, OnDatagram, OnLost, UdpPeer } from './udp-socket.ts';

/**
 * Answered before more are read: the first of many who asked at once go on while the others are being answered, and none
 * of them, nor a relay that asks for all, is handed more at once than its socket has room for.
 */
const READ_AT_ONCE = 8;
/** A thread with nothing else to do takes all that is there: fewer calls, and its clients have a socket each. */
const READ_AT_ONCE_LINGERING = 32;
/** Afterwards it is somebody else's turn: Node calls again at once when there is more. */
const MOST_BATCHES_IN_A_TURN = 64;
/** So long a socket that lingers waits for the next datagram, and so long it keeps all else in its thread waiting. */
const LINGER_MS = 2;
const LINGERING_TURN_MS = 4;
const MSG_DONTWAIT = 0x40;
const POLLIN = 1;

export interface BatchCalls {
  poll(descriptors: number, count: number, milliseconds: number): number;
  recvmmsg(fd: number, headers: number, count: number, flags: number, timeout: null): number;
  sendmmsg(fd: number, headers: number, count: number, flags: number): number;
}

/** null: not on this system. The layout of a batch is that of Linux with 64 bits, lowest byte first. */
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
   * It waits for more itself after a burst, which costs a third of a return to Node, and holds its thread up meanwhile: only for
   * a thread that has nothing else to do.
   */
  readonly lingers?: boolean;
  /**
   * Many datagrams to one peer may cross virtual wires (veth) as a single frame. Sockets never notice; whoever reads the wire
   * itself does, as udhcpc and ISC's DHCP relay do: to them they are one long datagram.
   */
  readonly joins?: boolean;
  /** This datagram did not leave, and never will. */
  readonly onLost?: OnLost;
}

export class BatchedSocket implements BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  readonly #fd: number;
  /** Owns the descriptor. */
  readonly #socket: Socket;
  readonly #calls: BatchCalls;
  readonly #onDatagram: OnDatagram;
  readonly #onLost: OnLost;
  readonly #inbox = new DatagramBatch();
  readonly #outbox: Outbox;
  /** What `poll` is asked about; null: Node alone waits. */
  readonly #lingersOn: PollDescriptor | null;
  /** With Node, which waits until the kernel has room. Whatever is sent meanwhile has to queue up behind them. */
  #waiting = 0;
  /** So many came last; below zero: none. */
  #received = 0;
  #receiving = false;
  #flushIsDue = false;
  #open = true;

  /** The socket has taken the descriptor over and is bound. */
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
    if (!this.#open || !isAnswerable(to)) return;
    const isLong = bytes.length > SLOT_BYTES;
    if (isLong || this.#outbox.isFull) this.#flush();
    if (isLong || this.#waiting > 0) {
      this.#leaveToNode(bytes, to);
      return;
    }
    this.#outbox.put(bytes, to);
    if (!this.#receiving) this.#flushSoon();
  }

  sendPart(part: Part, to: Endpoint): void {
    if (!this.#open || !isAnswerable(to)) return;
    if (this.#outbox.isFull) this.#flush();
    if (this.#waiting > 0) {
      this.#leaveToNode(wholeOf(part), to);
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
      if (first.length <= SLOT_BYTES) this.#hand(first, endpointOf(from));
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

  #hand(bytes: Uint8Array, from: Endpoint): void {
    if (isAnswerable(from)) this.#onDatagram(bytes, from);
  }

  #drain(): void {
    for (let batch = 0; batch < MOST_BATCHES_IN_A_TURN && this.#receiveBatch(); batch += 1) this.#flush();
    this.#flush();
  }

  #linger(on: PollDescriptor): void {
    const until = performance.now() + LINGERING_TURN_MS;
    // What waits with Node is sent by Node. Where something was found there may be more by now; else it is waited for.
    while (this.#open && this.#waiting === 0 && (this.#received > 0 || this.#waitFor(on))) {
      this.#drain();
      if (performance.now() >= until) break;
    }
  }

  #waitFor(on: PollDescriptor): boolean {
    return this.#calls.poll(on.address, 1, LINGER_MS) > 0;
  }

  /** False when that was all: fewer than there was room for. */
  #receiveBatch(): boolean {
    if (!this.#open) return false;
    const most = this.#lingersOn ? READ_AT_ONCE_LINGERING : READ_AT_ONCE;
    const count = this.#calls.recvmmsg(this.#fd, this.#inbox.pointerTo(0), most, MSG_DONTWAIT, null);
    this.#received = count;
    for (let slot = 0; slot < count && this.#open; slot += 1) {
      const bytes = this.#inbox.received(slot);
      if (bytes) this.#hand(bytes, this.#inbox.peer(slot));
    }
    return count === most;
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
    if (this.#open) this.#outbox.flush(this.#send, this.#leaveToNode, this.#onLost);
  }

  readonly #send = (headers: number, count: number): number =>
    this.#calls.sendmmsg(this.#fd, headers, count, MSG_DONTWAIT);

  readonly #leaveToNode = (bytes: Uint8Array, to: Endpoint): void => {
    const { address, port } = peerAt(to);
    this.#waiting += 1;
    this.#socket.send(bytes.slice(), port, address, (error) => {
      this.#waiting -= 1;
      if (error) this.#onLost((error as NodeJS.ErrnoException).code ?? error.message, to);
    });
  };
}

/** RFC 768: a source port of zero wants no answer. The kernel and Node both refuse to send there. */
const isAnswerable = (peer: Endpoint): boolean => portOf(peer) !== 0;

/** struct pollfd. */
class PollDescriptor {
  readonly #bytes = new Int32Array(2);
  readonly address = Number(koffi.address(this.#bytes));

  constructor(fd: number, events: number) {
    this.#bytes.set([fd, events]);
  }
}
