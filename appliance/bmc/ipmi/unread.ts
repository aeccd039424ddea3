// A bounded buffer of received bytes that were not read yet. It is kept in blocks: a BMC that sends single bytes would otherwise take
// two hundred times as much memory as it sends.

const BLOCK = 4096;

export class Unread {
  readonly #most: number;
  readonly #blocks: Uint8Array[] = [];
  /** Used bytes of the last block; all others are full. */
  #filled = 0;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** False: the buffer is full, and the bytes were dropped. */
  push(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > this.#most) return false;
    this.#bytes += bytes.length;
    for (let rest = bytes; rest.length > 0; ) {
      const last = this.#lastWithRoom();
      const part = rest.subarray(0, BLOCK - this.#filled);
      last.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
    return true;
  }

  shift(): Uint8Array | null {
    const block = this.#blocks.shift();
    if (!block) return null;
    const next = this.#blocks.length === 0 ? block.subarray(0, this.#filled) : block;
    this.#bytes -= next.length;
    return next;
  }

  #lastWithRoom(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last && this.#filled < BLOCK) return last;
    const block = new Uint8Array(BLOCK);
    this.#blocks.push(block);
    this.#filled = 0;
    return block;
  }
}
