// Memory for many small packets, cut from large blocks. One allocation and one release per packet cost more than reading a
// packet.

const PIECE_BYTES = 64 * 1024;

export class ByteSlab {
  #piece = new Uint8Array(PIECE_BYTES);
  #used = 0;

  /** Zeroed and not shared. A block is freed with the last packet in it. */
  readonly take = (length: number): Uint8Array => {
    if (length > PIECE_BYTES / 4) return new Uint8Array(length);
    if (this.#used + length > PIECE_BYTES) {
      this.#piece = new Uint8Array(PIECE_BYTES);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return this.#piece.subarray(start, this.#used);
  };

  copy(bytes: Uint8Array): Uint8Array {
    const copy = this.take(bytes.length);
    copy.set(bytes);
    return copy;
  }
}
