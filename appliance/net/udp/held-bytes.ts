// Bytes at a fixed address while this object is alive, so that the kernel can read them. JavaScript's own heap moves its objects;
// taking the address moves the bytes out of it.

import koffi from 'koffi';

export class HeldBytes {
  readonly bytes: Uint8Array;
  readonly address: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.address = Number(koffi.address(bytes));
  }
}

export const HEAD_BYTES = 4;

/** A datagram: a header of four bytes, followed by a part of a larger buffer. */
export interface Part {
  readonly head: number;
  readonly from: HeldBytes;
  readonly offset: number;
  readonly length: number;
}

export function wholeOf({ head, from, offset, length }: Part): Uint8Array {
  const whole = Buffer.allocUnsafe(HEAD_BYTES + length);
  whole.writeUInt32BE(head);
  whole.set(from.bytes.subarray(offset, offset + length), HEAD_BYTES);
  return whole;
}
