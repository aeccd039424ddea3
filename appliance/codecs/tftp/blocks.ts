// Cuts a file into blocks, strictly forward: the sender keeps what it sent and is not acknowledged yet.

/** The contents of a file. */
export interface BlockSource {
  readonly size: number;
  /** Exactly these bytes, valid until the next call; or null if they are not available yet. */
  read(offset: number, length: number): Uint8Array | null;
  /** The whole file, if it stays in memory while the source is open. Such a source can be sent without copies. */
  readonly whole?: Uint8Array;
}

/**
 * The number of bytes written, fewer than fit only in the last block. `not-ready`: nothing is lost, call again with the
 * same target. `ended-early`: the source is shorter than its announced size.
 */
type Cut = number | 'not-ready' | 'ended-early';

export interface BlockCutter {
  /** Bytes of the file not cut yet. At least that many remain to be sent. */
  readonly remaining: number;
  /** Writes the payload of the next block at `at`, up to the end of the target. */
  cut(target: Uint8Array, at: number): Cut;
}

/** Sends the bytes unchanged (mode octet). */
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
