// A file that output is appended to. A full disk loses output and stops nothing: the rack outlives the appliance's full disk.

import { type FileHandle, open } from 'node:fs/promises';

export class OutputFile {
  readonly #handle: Promise<FileHandle>;
  /** Writes happen in order. */
  #last: Promise<unknown>;

  constructor(file: string) {
    this.#handle = open(file, 'a', 0o600);
    this.#last = this.#handle.catch(() => undefined);
  }

  write(output: Uint8Array | string): void {
    this.#last = this.#last.then(async () => (await this.#handle).appendFile(output)).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#handle.then(
      (handle) => handle.close(),
      () => undefined,
    );
  }
}
