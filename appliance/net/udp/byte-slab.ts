// Memory for many small packets, taken from a large piece in slices. To ask the system for each packet, and to give each
// back, costs more than to read one.

const PIECE_BYTES = 64 * 1024;

export class ByteSlab {
  #piece = new Uint8Array(PIECE_BYTES);
  #used = 0;

  /** Zeroed, and nobody else's. A piece is freed when the last packet in it is. */
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
