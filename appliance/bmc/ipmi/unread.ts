// What has come and nobody has read yet, and no more of it than a screen could ever need.

export class Unread {
  readonly #most: number;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** False: too much by now, and this was not kept. */
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
