// Bytes that stay where they are for as long as this is held: the kernel can be sent there to fetch them. Not in JavaScript's own
// heap, where things are moved: to ask for their address takes them out of it.

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

/** A datagram: four bytes, and behind them a part of something larger. */
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
