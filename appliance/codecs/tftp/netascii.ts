// Mode netascii (RFC 1350 §1, RFC 764): a line ends with CR LF on the wire, a bare CR becomes CR NUL. One byte of the file
// may become two, and the two may fall into different blocks.

import type { BlockCutter, BlockSource } from './blocks.ts';

const NUL = 0x00;
const LF = 0x0a;
const CR = 0x0d;

export function netasciiBlocks(source: BlockSource): BlockCutter {
  let offset = 0;
  /** The second byte of a pair whose first byte has been written. */
  let pending: number | null = null;
  /** Bytes of the current block already written: above 0 between two calls only if the source was not ready. */
  let written = 0;

  return {
    get remaining() {
      return source.size - offset;
    },

    cut(target, at) {
      const room = target.length - at;
      while (written < room) {
        if (pending !== null) {
          target[at + written++] = pending;
          pending = null;
          continue;
        }
        const count = Math.min(room - written, source.size - offset);
        if (count === 0) break;
        const bytes = source.read(offset, count);
        if (bytes === null) return 'not-ready';
        if (bytes.length !== count) return 'ended-early';
        const lineEnd = bytes.findIndex((byte) => byte === LF || byte === CR);
        const plain = lineEnd < 0 ? bytes : bytes.subarray(0, lineEnd);
        target.set(plain, at + written);
        written += plain.length;
        offset += plain.length;
        if (lineEnd < 0) continue;
        target[at + written++] = CR;
        pending = bytes[lineEnd] === LF ? LF : NUL;
        offset += 1;
      }
      const length = written;
      written = 0;
      return length;
    },
  };
}
