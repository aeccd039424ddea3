// What a console received, until it is read: a bounded buffer that ends, and one reader that waits for it.

import type { BmcError } from '../bmc-error.ts';
import { Unread } from './unread.ts';

export class ReceivedOutput implements AsyncIterable<Uint8Array> {
  readonly #unread: Unread;
  #wakeReader: () => void = () => undefined;
  #end: { readonly error: BmcError | null } | null = null;

  /** `most`: bytes. */
  constructor(most: number) {
    this.#unread = new Unread(most);
  }

  get ended(): boolean {
    return this.#end !== null;
  }

  /** False: the buffer is full, and the bytes were dropped. */
  push(bytes: Uint8Array): boolean {
    const kept = this.#unread.push(bytes);
    this.#wakeReader();
    return kept;
  }

  /** The reader gets what is left, and then the error or the end. The first call counts. */
  end(error: BmcError | null): void {
    this.#end ??= { error };
    this.#wakeReader();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const next = this.#unread.shift();
      if (next) {
        yield next;
      } else if (this.#end) {
        if (this.#end.error) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    }
  }
}
