// The datagrams of one turn. A window of blocks to one client is one message to the kernel, which carries it through its stack as
// one and segments it at the end.

import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';
import { BATCH_SLOTS, DatagramBatch } from './datagram-batch.ts';
import type { Endpoint } from './endpoint.ts';
import { HEAD_BYTES, type Part, wholeOf } from './held-bytes.ts';
import type { OnLost } from './udp-socket.ts';

/** Below the size of an IPv4 packet, and below UDP_MAX_SEGMENTS of the kernel (64 in the oldest). */
const MOST_BYTES_IN_A_RUN = 60_000;
const { EAGAIN } = constants.errno;
/** The interface cannot compute checksums; or the datagrams exceed its MTU (older and newer kernels report it differently). */
const CANNOT_JOIN: readonly number[] = [constants.errno.EIO, constants.errno.EINVAL, constants.errno.EMSGSIZE];

/** sendmmsg on the socket: the number of messages sent, or -1. */
type Send = (headers: number, count: number) => number;

/** Consecutive slots to the same peer. */
class Run {
  firstSlot = 0;
  slots = 0;
  to = 0 as Endpoint;
  segment = 0;
  bytes = 0;
  /** Only the last segment may be shorter. */
  ended = false;

  begin(slot: number, length: number, to: Endpoint): void {
    this.firstSlot = slot;
    this.slots = 1;
    this.to = to;
    this.segment = length;
    this.bytes = length;
    this.ended = false;
  }

  /** False: the datagram needs a new run. */
  join(length: number, to: Endpoint): boolean {
    if (this.to !== to || this.ended || length === 0 || length > this.segment) return false;
    if (this.bytes + length > MOST_BYTES_IN_A_RUN) return false;
    this.slots += 1;
    this.bytes += length;
    this.ended = length < this.segment;
    return true;
  }
}

export class Outbox {
  readonly #batch = new DatagramBatch();
  /** Allocated once; the first `#runCount` are in use. */
  readonly #runs = Array.from({ length: BATCH_SLOTS }, () => new Run());
  #runCount = 0;
  #slots = 0;
  /** The external part of a slot's datagram. Kept until it is sent. */
  readonly #parts: (Part | null)[] = Array.from({ length: BATCH_SLOTS }, () => null);
  #joins: boolean;

  constructor(joins: boolean) {
    this.#joins = joins;
  }

  get isFull(): boolean {
    return this.#slots === BATCH_SLOTS;
  }

  put(bytes: Uint8Array, to: Endpoint): void {
    this.#batch.put(this.#slots, bytes, to);
    this.#take(bytes.length, to, null);
  }

  putPart(part: Part, to: Endpoint): void {
    this.#batch.putPart(this.#slots, part, to);
    this.#take(HEAD_BYTES + part.length, to, part);
  }

  /** Sends all. What the kernel has no room for goes to `later`, in order; the bytes are valid during the call only. */
  flush(send: Send, later: (bytes: Uint8Array, to: Endpoint) => void, lost: OnLost): void {
    const runs = this.#runs;
    for (let at = 0; at < this.#runCount; at += 1) {
      const { firstSlot, slots } = runs[at] as Run;
      this.#batch.describe(at, firstSlot, slots);
    }
    let next = 0;
    let firstLeft = this.#slots;
    while (next < this.#runCount) {
      const sent = send(this.#batch.pointerTo(next), this.#runCount - next);
      if (sent > 0) {
        next += sent;
        continue;
      }
      const errno = koffi.errno();
      const run = runs[next] as Run;
      if (errno === EAGAIN || this.#cannotJoin(run, errno)) {
        firstLeft = run.firstSlot;
        break;
      }
      // Only this one cannot be sent: no route to its network, or a firewall rejects it.
      lost(getSystemErrorName(-errno), run.to);
      next += 1;
    }
    for (let slot = firstLeft; slot < this.#slots; slot += 1) later(this.#whole(slot), this.#batch.peer(slot));
    this.#parts.fill(null, 0, this.#slots);
    this.#runCount = 0;
    this.#slots = 0;
  }

  #take(length: number, to: Endpoint, part: Part | null): void {
    const slot = this.#slots;
    this.#slots += 1;
    this.#parts[slot] = part;
    const last = this.#runs[this.#runCount - 1];
    if (last && this.#joins && last.join(length, to)) return;
    this.#runs[this.#runCount]?.begin(slot, length, to);
    this.#runCount += 1;
  }

  #whole(slot: number): Uint8Array {
    const part = this.#parts[slot];
    return part ? wholeOf(part) : this.#batch.toSend(slot);
  }

  /** From now on, datagrams are sent one by one. */
  #cannotJoin(run: Run, errno: number): boolean {
    if (run.slots === 1 || !CANNOT_JOIN.includes(errno)) return false;
    this.#joins = false;
    return true;
  }
}
