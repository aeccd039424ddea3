// What a turn has to send. A window of blocks to one client is one message to the kernel, which carries it through its stack
// as one and cuts it into datagrams at the end.

import { constants } from 'node:os';
import koffi from 'koffi';
import { BATCH_SLOTS, DatagramBatch } from './datagram-batch.ts';
import type { Endpoint } from './endpoint.ts';

/** Below what an IPv4 packet holds, and what the kernel cuts up at once (UDP_MAX_SEGMENTS, 64 in the oldest). */
const MOST_BYTES_IN_A_RUN = 60_000;
const { EAGAIN, EIO, EINVAL } = constants.errno;

/** sendmmsg on the socket: how many messages left, or -1. */
type Send = (headers: number, count: number) => number;

interface Run {
  readonly firstSlot: number;
  readonly to: Endpoint;
  readonly segment: number;
  slots: number;
  bytes: number;
  /** A shorter segment can only be the last. */
  ended: boolean;
}

export class Outbox {
  readonly #batch = new DatagramBatch();
  readonly #runs: Run[] = [];
  #slots = 0;
  #joins = true;

  get isFull(): boolean {
    return this.#slots === BATCH_SLOTS;
  }

  put(bytes: Uint8Array, to: Endpoint): void {
    const slot = this.#slots;
    this.#slots += 1;
    this.#batch.put(slot, bytes, to);
    const last = this.#runs.at(-1);
    if (last && this.#joins && fits(last, bytes, to)) {
      last.slots += 1;
      last.bytes += bytes.length;
      last.ended = bytes.length < last.segment;
    } else {
      this.#runs.push({ firstSlot: slot, to, segment: bytes.length, slots: 1, bytes: bytes.length, ended: false });
    }
  }

  /** Empties it. What the kernel has no room for now goes to `later`, in order; the bytes are valid during the call. */
  flush(send: Send, later: (bytes: Uint8Array, to: Endpoint) => void): void {
    const runs = this.#runs;
    for (const [header, { firstSlot, slots }] of runs.entries()) this.#batch.describe(header, firstSlot, slots);
    let next = 0;
    let firstLeft = this.#slots;
    while (next < runs.length) {
      const sent = send(this.#batch.pointerTo(next), runs.length - next);
      if (sent > 0) {
        next += sent;
        continue;
      }
      const errno = koffi.errno();
      const run = runs[next];
      if (errno === EAGAIN || (run && this.#cannotJoin(run, errno))) {
        firstLeft = run?.firstSlot ?? this.#slots;
        break;
      }
      // Only this one cannot leave: there is no way to its network, or a firewall forbids it.
      next += 1;
    }
    for (let slot = firstLeft; slot < this.#slots; slot += 1) later(this.#batch.toSend(slot), this.#batch.peer(slot));
    runs.length = 0;
    this.#slots = 0;
  }

  /** EIO: the interface cannot do checksums. EINVAL: the datagrams are larger than its MTU. From now on, one by one. */
  #cannotJoin(run: Run, errno: number): boolean {
    if (run.slots === 1 || (errno !== EIO && errno !== EINVAL)) return false;
    this.#joins = false;
    return true;
  }
}

const fits = (run: Run, bytes: Uint8Array, to: Endpoint): boolean =>
  run.to === to &&
  !run.ended &&
  bytes.length > 0 &&
  bytes.length <= run.segment &&
  run.bytes + bytes.length <= MOST_BYTES_IN_A_RUN;
