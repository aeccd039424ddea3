// The DATA packets a sender may have to send again: cut from the file in order, kept until the window moves past them
// (RFC 7440 §4; without windows it holds one).

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
  /** Being filled, and kept because the cutter had to wait in the middle of it. */
  #unfinished: Uint8Array | null = null;
  #newest = 0;
  #lastLength: number | null = null;

  constructor(cutter: BlockCutter, shape: WindowShape) {
    this.#cutter = cutter;
    this.#shape = shape;
  }

  /** The block cut latest, counted from 1; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** The newest block is the one that ends the file. */
  get complete(): boolean {
    return this.#lastLength !== null;
  }

  /** Makes the next packet, in the place of the one a whole window before it. */
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
   * A socket may still hold back a copy of the packet that was in this slot, with the length that one had. Reused for
   * another whole block, its buffer makes that copy a proper packet; only a block that may be short must not be put there.
   */
  #bufferFor(slot: number): Uint8Array {
    const { blockSize } = this.#shape;
    const used = this.#cutter.remaining < blockSize ? undefined : this.#packets[slot];
    return used ?? new Uint8Array(DATA_HEADER_BYTES + blockSize);
  }

  /** undefined: not cut yet, or past. */
  packet(block: number): Uint8Array | undefined {
    const { windowSize } = this.#shape;
    const held = block <= this.#newest && block > this.#newest - windowSize;
    return held ? this.#packets[block % windowSize] : undefined;
  }

  /** How much payload the blocks up to this one have. */
  bytesThrough(block: number): number {
    const { blockSize } = this.#shape;
    const missing = this.#lastLength !== null && block === this.#newest ? blockSize - this.#lastLength : 0;
    return block * blockSize - missing;
  }
}
