// The DATA packets that a sender may have to retransmit: cut from the file in order, kept until the window moves past them
// (RFC 7440 §4; without the windowsize option it holds one).

import { type RolloverTo, wireBlock } from './block-number.ts';
import type { BlockCutter } from './blocks.ts';
import { DATA_HEADER_BYTES, writeDataHeader } from './encode.ts';

interface WindowShape {
  readonly blockSize: number;
  readonly windowSize: number;
  readonly rolloverTo: RolloverTo;
}

export class BlockWindow {
  readonly #cutter: BlockCutter;
  readonly #shape: WindowShape;
  /** Block n is at n modulo the window size. */
  readonly #packets: Uint8Array[] = [];
  /** Partly filled, and kept because the source was not ready in the middle of it. */
  #unfinished: Uint8Array | null = null;
  #newest = 0;
  #lastLength: number | null = null;

  constructor(cutter: BlockCutter, shape: WindowShape) {
    this.#cutter = cutter;
    this.#shape = shape;
  }

  /** The block cut last, counted from 1; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** The newest block is the last of the file. */
  get complete(): boolean {
    return this.#lastLength !== null;
  }

  /** Builds the next packet, in the slot of the packet one window before it. */
  cutNext(): 'cut' | 'not-ready' | 'ended-early' {
    const { blockSize, windowSize, rolloverTo } = this.#shape;
    const block = this.#newest + 1;
    const slot = block % windowSize;
    const target = this.#unfinished ?? this.#bufferFor(slot);
    const length = this.#cutter.cut(target, DATA_HEADER_BYTES);
    if (typeof length === 'string') {
      this.#unfinished = target;
      return length;
    }
    this.#unfinished = null;
    writeDataHeader(target, wireBlock(block, rolloverTo));
    this.#newest = block;
    if (length < blockSize) this.#lastLength = length;
    this.#packets[slot] = length < blockSize ? target.subarray(0, DATA_HEADER_BYTES + length) : target;
    return 'cut';
  }

  /**
   * The socket may still queue the packet that was in this slot, with that packet's length. If another full block reuses the
   * buffer, the queued packet is still valid; a block that may be short must therefore get its own buffer.
   */
  #bufferFor(slot: number): Uint8Array {
    const { blockSize } = this.#shape;
    const used = this.#cutter.remaining < blockSize ? undefined : this.#packets[slot];
    return used ?? new Uint8Array(DATA_HEADER_BYTES + blockSize);
  }

  /** undefined: not cut yet, or already outside the window. */
  packet(block: number): Uint8Array | undefined {
    const { windowSize } = this.#shape;
    const held = block <= this.#newest && block > this.#newest - windowSize;
    return held ? this.#packets[block % windowSize] : undefined;
  }

  /** Payload bytes of all blocks up to this one. */
  bytesThrough(block: number): number {
    const { blockSize } = this.#shape;
    const missing = this.#lastLength !== null && block === this.#newest ? blockSize - this.#lastLength : 0;
    return block * blockSize - missing;
  }
}
