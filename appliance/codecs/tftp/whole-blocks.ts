// The blocks of a file that stays in memory, in mode octet: the position of each is computed, and nothing is kept for
// retransmission.

import { type RolloverTo, wireBlock } from './block-number.ts';
import { dataHeader } from './encode.ts';

/** A DATA packet: its first four bytes as a number, and the part of the file that follows them. */
export interface BlockOfFile {
  readonly head: number;
  readonly offset: number;
  readonly length: number;
}

export class WholeBlocks {
  readonly #size: number;
  readonly #blockSize: number;
  readonly #rolloverTo: RolloverTo;
  /** The last block: shorter than the others, possibly empty. */
  readonly #last: number;
  #newest = 0;

  constructor(
    size: number,
    { blockSize, rolloverTo }: { readonly blockSize: number; readonly rolloverTo: RolloverTo },
  ) {
    this.#size = size;
    this.#blockSize = blockSize;
    this.#rolloverTo = rolloverTo;
    this.#last = Math.floor(size / blockSize) + 1;
  }

  get newest(): number {
    return this.#newest;
  }

  get complete(): boolean {
    return this.#newest === this.#last;
  }

  cutNext(): 'cut' {
    this.#newest += 1;
    return 'cut';
  }

  packet(block: number): BlockOfFile {
    const offset = (block - 1) * this.#blockSize;
    const length = Math.min(this.#blockSize, this.#size - offset);
    return { head: dataHeader(wireBlock(block, this.#rolloverTo)), offset, length };
  }

  bytesThrough(block: number): number {
    return Math.min(block * this.#blockSize, this.#size);
  }
}
