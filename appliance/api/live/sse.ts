// Server-Sent Events as bytes (HTML standard, "Server-sent events"), and the same bytes compressed once for all listeners.

import { constants, deflateRaw, deflateRawSync } from 'node:zlib';
import type { StreamMessages } from '../../contract/schemas/stream.ts';

/** JSON text has no line breaks, so one data line holds it. */
export const messageText = (name: keyof StreamMessages, json: string, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${json}\n\n`;

/** A comment, with the number of the last event: a filtered stream is resumed from here although it showed nothing. */
export const heartbeatText = (cursor: number | null): string => (cursor === null ? ':\n\n' : `:\nid: ${cursor}\n\n`);

/** The header of a gzip stream (RFC 1952 §2.3); raw deflate blocks follow. */
export const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/**
 * Bytes for any number of listeners. Compressed, each frame is a sequence of deflate blocks that ends at a byte boundary and refers to nothing
 * before it (RFC 1951 §3.2), so it can follow any other frame in a gzip stream: it is compressed once, outside this thread.
 */
export class Frame {
  readonly plain: Buffer;
  #packed: Promise<Buffer> | null = null;

  constructor(text: string) {
    this.plain = Buffer.from(text);
  }

  packed(): Promise<Buffer> {
    this.#packed ??= pack(this.plain);
    return this.#packed;
  }

  /** For short frames. */
  packedNow(): Buffer {
    return deflateRawSync(this.plain, PACKING);
  }
}

const PACKING = { level: 4, finishFlush: constants.Z_SYNC_FLUSH } as const;

function pack(plain: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const done = (error: Error | null, packed: Buffer): void => (error ? reject(error) : resolve(packed));
  deflateRaw(plain, PACKING, done);
  return promise;
}

/** Listeners that begin at about the same time get the same snapshot: its frames are compressed once. */
export class RecentFrames {
  readonly #frames = new Map<string, Frame>();

  of(text: string): Frame {
    if (text.length < WORTH_KEEPING) return new Frame(text);
    const known = this.#frames.get(text);
    if (known) return known;
    const frame = new Frame(text);
    this.#frames.set(text, frame);
    if (this.#frames.size > MOST_FRAMES) this.#dropOldest();
    return frame;
  }

  clear(): void {
    this.#frames.clear();
  }

  #dropOldest(): void {
    const [oldest] = this.#frames.keys();
    if (oldest !== undefined) this.#frames.delete(oldest);
  }
}

const WORTH_KEEPING = 16 * 1024;
/** 10,000 rows are 20 frames, of about 300 kB each. */
const MOST_FRAMES = 64;
