// A bounded buffer of received bytes that were not read yet.

export class Unread {
  readonly #most: number;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** False: the buffer is full, and the bytes were dropped. */
  push(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > this.#most) return false;
    this.#chunks.push(Uint8Array.from(bytes));
    this.#bytes += bytes.length;
    return true;
  }

  shift(): Uint8Array | null {
    const next = this.#chunks.shift() ?? null;
    this.#bytes -= next?.length ?? 0;
    return next;
  }
}
