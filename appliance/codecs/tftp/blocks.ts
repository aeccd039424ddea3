// Cutting a file into blocks, strictly forward: what was sent and is not acknowledged yet stays with the sender.

/** A file's bytes, as the server holds them. */
export interface BlockSource {
  readonly size: number;
  /** Exactly these bytes, valid until the next call; or null while they are not here yet. */
  read(offset: number, length: number): Uint8Array | null;
  /** All of it, where it stays for as long as the source is open. Such a source can be sent from without copies. */
  readonly whole?: Uint8Array;
}

/**
 * Bytes written, fewer than there was room for only in the last block. `not-ready`: nothing is lost, ask again with the
 * same target. `ended-early`: the source holds less than it announced.
 */
type Cut = number | 'not-ready' | 'ended-early';

export interface BlockCutter {
  /** Bytes of the file not cut yet. At least as many are still to be sent. */
  readonly remaining: number;
  /** Writes the next block's payload behind `at`, up to the end of the target. */
  cut(target: Uint8Array, at: number): Cut;
}

/** The bytes as they are (mode octet). */
export function octetBlocks(source: BlockSource): BlockCutter {
  let offset = 0;
  return {
    get remaining() {
      return source.size - offset;
    },

    cut(target, at) {
      const length = Math.min(target.length - at, source.size - offset);
      if (length === 0) return 0;
      const bytes = source.read(offset, length);
      if (bytes === null) return 'not-ready';
      if (bytes.length !== length) return 'ended-early';
      target.set(bytes, at);
      offset += length;
      return length;
    },
  };
}
