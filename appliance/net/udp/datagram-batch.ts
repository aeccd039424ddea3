// Memory for a batch of datagrams, in the layout of recvmmsg and sendmmsg (Linux, 64 bits, little-endian), allocated once:
//
//   64 × struct mmsghdr   name →, name length, iovec →, how many, control →, control length, flags | length
//   128 × struct iovec    payload →, length; then external bytes that follow it →, length
//   64 × sockaddr_in      family, port, address
//   64 × struct cmsghdr   UDP_SEGMENT and the length of a segment
//   64 × payload
//
// It is the memory of an ArrayBuffer, which does not move. One header describes one slot, or a run of slots to the same peer that
// the kernel may carry as one and segment again (udp(7), UDP_SEGMENT).

import koffi from 'koffi';
import { addressOf, type Endpoint, endpointFrom, portOf } from './endpoint.ts';
import { HEAD_BYTES, type Part } from './held-bytes.ts';

export const BATCH_SLOTS = 64;
/** More than an Ethernet frame carries. */
export const SLOT_BYTES = 2048;

const HEADER = {
  bytes: 64,
  name: 0,
  nameLength: 8,
  iovec: 16,
  iovecCount: 24,
  control: 32,
  controlLength: 40,
  flags: 48,
  length: 56,
} as const;
const IOVEC = { bytes: 16, base: 0, length: 8 } as const;
/** The payload in the slot, and external bytes that follow it. */
const PIECES = 2;
const ADDRESS = { bytes: 16, family: 0, port: 2, address: 4 } as const;
const CONTROL = { bytes: 24, length: 0, level: 8, type: 12, value: 16 } as const;
const AF_INET = 2;
const SOL_UDP = 17;
const UDP_SEGMENT = 103;
const MSG_TRUNC = 0x20;

const IOVECS_AT = BATCH_SLOTS * HEADER.bytes;
const ADDRESSES_AT = IOVECS_AT + BATCH_SLOTS * PIECES * IOVEC.bytes;
const CONTROLS_AT = ADDRESSES_AT + BATCH_SLOTS * ADDRESS.bytes;
const PAYLOADS_AT = CONTROLS_AT + BATCH_SLOTS * CONTROL.bytes;

export class DatagramBatch {
  readonly #bytes = new Uint8Array(PAYLOADS_AT + BATCH_SLOTS * SLOT_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #base = Number(koffi.address(this.#bytes));

  constructor() {
    const view = this.#view;
    for (let slot = 0; slot < BATCH_SLOTS; slot += 1) {
      const header = slot * HEADER.bytes;
      const iovec = payloadPiece(slot);
      const control = CONTROLS_AT + slot * CONTROL.bytes;
      view.setUint32(header + HEADER.nameLength, ADDRESS.bytes, true);
      this.#point(header + HEADER.control, control);
      this.describe(slot, slot, 1);
      this.#point(iovec + IOVEC.base, PAYLOADS_AT + slot * SLOT_BYTES);
      view.setUint32(iovec + IOVEC.length, SLOT_BYTES, true);
      view.setUint16(ADDRESSES_AT + slot * ADDRESS.bytes + ADDRESS.family, AF_INET, true);
      // CMSG_LEN of the two bytes of the value.
      view.setUint32(control + CONTROL.length, CONTROL.value + 2, true);
      view.setUint32(control + CONTROL.level, SOL_UDP, true);
      view.setUint32(control + CONTROL.type, UDP_SEGMENT, true);
    }
  }

  /** Address of this header, which the following headers are behind. */
  pointerTo(header: number): number {
    return this.#base + header * HEADER.bytes;
  }

  put(slot: number, bytes: Uint8Array, to: Endpoint): void {
    this.#setPeer(slot, to);
    this.#setLengths(slot, bytes.length, 0);
    this.#bytes.set(bytes, PAYLOADS_AT + slot * SLOT_BYTES);
  }

  /** The part's bytes must stay at their address until it is sent. */
  putPart(slot: number, { head, from, offset, length }: Part, to: Endpoint): void {
    this.#setPeer(slot, to);
    this.#setLengths(slot, HEAD_BYTES, length);
    this.#pointOutside(payloadPiece(slot) + IOVEC.bytes + IOVEC.base, from.address + offset);
    this.#view.setUint32(PAYLOADS_AT + slot * SLOT_BYTES, head);
  }

  /** Several slots are segmented at the length of the first: only the last may be shorter. */
  describe(header: number, firstSlot: number, slots: number): void {
    const at = header * HEADER.bytes;
    const iovec = payloadPiece(firstSlot);
    this.#point(at + HEADER.name, ADDRESSES_AT + firstSlot * ADDRESS.bytes);
    this.#point(at + HEADER.iovec, iovec);
    this.#view.setUint32(at + HEADER.iovecCount, slots * PIECES, true);
    this.#view.setUint32(at + HEADER.controlLength, slots > 1 ? CONTROL.bytes : 0, true);
    const segment = this.#length(iovec) + this.#length(iovec + IOVEC.bytes);
    this.#view.setUint16(CONTROLS_AT + header * CONTROL.bytes + CONTROL.value, segment, true);
  }

  /** Source of a received datagram, or destination of one to send. */
  peer(slot: number): Endpoint {
    const address = ADDRESSES_AT + slot * ADDRESS.bytes;
    return endpointFrom(this.#view.getUint32(address + ADDRESS.address), this.#view.getUint16(address + ADDRESS.port));
  }

  /** null: the datagram was longer than a slot, and was truncated. */
  received(slot: number): Uint8Array | null {
    const header = slot * HEADER.bytes;
    if (this.#view.getUint32(header + HEADER.flags, true) & MSG_TRUNC) return null;
    return this.#payload(slot, this.#view.getUint32(header + HEADER.length, true));
  }

  /** Without the external bytes. */
  toSend(slot: number): Uint8Array {
    return this.#payload(slot, this.#length(payloadPiece(slot)));
  }

  #payload(slot: number, length: number): Uint8Array {
    const start = PAYLOADS_AT + slot * SLOT_BYTES;
    return this.#bytes.subarray(start, start + length);
  }

  #setPeer(slot: number, to: Endpoint): void {
    const address = ADDRESSES_AT + slot * ADDRESS.bytes;
    this.#view.setUint16(address + ADDRESS.port, portOf(to));
    this.#view.setUint32(address + ADDRESS.address, addressOf(to));
  }

  #length(iovec: number): number {
    return this.#view.getUint32(iovec + IOVEC.length, true);
  }

  #setLengths(slot: number, inSlot: number, external: number): void {
    const iovec = payloadPiece(slot);
    this.#view.setUint32(iovec + IOVEC.length, inSlot, true);
    this.#view.setUint32(iovec + IOVEC.bytes + IOVEC.length, external, true);
  }

  #point(at: number, to: number): void {
    this.#pointOutside(at, this.#base + to);
  }

  /** Without a BigInt, which would be allocated for every datagram. */
  #pointOutside(at: number, address: number): void {
    this.#view.setUint32(at, address % 2 ** 32, true);
    this.#view.setUint32(at + 4, Math.floor(address / 2 ** 32), true);
  }
}

const payloadPiece = (slot: number): number => IOVECS_AT + slot * PIECES * IOVEC.bytes;
