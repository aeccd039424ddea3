// The bytes of a transfer: small files are held in memory and shared by all transfers, large ones are read in chunks.

import { closeSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Asset } from '../../assets/asset.ts';
import type { BlockSource } from '../../codecs/tftp/blocks.ts';

export interface OpenBytes extends BlockSource {
  /** Called when a read that returned null can be retried, or has failed. */
  onReady: (failure: Error | null) => void;
  close(): void;
}

/** What a transfer sends, before it is opened. File bytes are in shared memory: a thread need not copy them. */
export type TransferContent = { readonly bytes: Uint8Array } | { readonly file: string; readonly size: number };

export const sizeOf = (content: TransferContent): number => ('file' in content ? content.size : content.bytes.length);

export async function openContent(content: TransferContent): Promise<OpenBytes> {
  return 'file' in content ? openChunks(content.file, content.size) : bytesInMemory(content.bytes);
}

/** For a thread that may block on the disk. */
export function openContentNow(content: TransferContent): OpenBytes {
  return 'file' in content ? openChunksNow(content.file, content.size) : bytesInMemory(content.bytes);
}

function bytesInMemory(bytes: Uint8Array): OpenBytes {
  return {
    size: bytes.length,
    whole: bytes,
    read: (offset, length) => bytes.subarray(offset, offset + length),
    onReady: () => undefined,
    close: () => undefined,
  };
}

export class HotFiles {
  /** Key: checksum, so a changed file is a new entry. The least recently used come first. */
  readonly #files = new Map<string, { readonly size: number; readonly bytes: Promise<Uint8Array> }>();
  readonly #budget: number;
  #held = 0;

  constructor(budgetBytes: number) {
    this.#budget = budgetBytes;
  }

  /** A file larger than a quarter of the budget is not cached: it would evict the loaders. */
  async contentOf(asset: Asset): Promise<TransferContent> {
    if (asset.size > this.#budget / 4) return { file: asset.file, size: asset.size };
    return { bytes: await this.#load(asset) };
  }

  #load(asset: Asset): Promise<Uint8Array> {
    const { sha256, size } = asset;
    const known = this.#files.get(sha256);
    const entry = known ?? { size, bytes: readShared(asset) };
    this.#files.delete(sha256);
    this.#files.set(sha256, entry);
    if (known) return known.bytes;
    this.#held += size;
    entry.bytes.catch(() => this.#drop(sha256));
    for (const oldest of this.#files.keys()) {
      if (this.#held <= this.#budget) break;
      this.#drop(oldest);
    }
    return entry.bytes;
  }

  #drop(sha256: string): void {
    this.#held -= this.#files.get(sha256)?.size ?? 0;
    this.#files.delete(sha256);
  }
}

async function readShared({ name, file, size }: Asset): Promise<Uint8Array> {
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  await using handle = await open(file);
  const read = await readFully(handle, bytes, 0);
  const { size: sizeNow } = await handle.stat();
  if (read !== size || sizeNow !== size) throw new Error(`${name} has ${sizeNow} bytes instead of ${size}`);
  return bytes;
}

/** One disk read per about two hundred blocks. Each transfer holds one chunk, and there may be a thousand transfers. */
const CHUNK_BYTES = 256 * 1024;

async function openChunks(file: string, size: number): Promise<OpenBytes> {
  const handle = await open(file);
  const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size));
  let start = 0;
  let filled = 0;
  let loaded = false;
  let loading: Promise<void> | null = null;

  const load = async (offset: number): Promise<void> => {
    try {
      filled = await readFully(handle, chunk, offset);
      start = offset;
      loaded = true;
      loading = null;
      source.onReady(null);
    } catch (error) {
      source.onReady(error as Error);
    }
  };
  const close = async (): Promise<void> => {
    await loading;
    await handle.close();
  };
  const source: OpenBytes = {
    size,
    read(offset, length) {
      if (offset >= start && offset + length <= start + filled) {
        return chunk.subarray(offset - start, offset - start + length);
      }
      // Just read from this offset, and still too short: the file was truncated. The short read tells the transfer.
      if (loaded && offset === start && loading === null) return chunk.subarray(0, filled);
      loading ??= load(offset);
      return null;
    },
    onReady: () => undefined,
    close: () => void close(),
  };
  return source;
}

/** A read may return fewer bytes than requested before the end of the file. */
async function readFully(handle: FileHandle, target: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await handle.read(target, filled, target.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function openChunksNow(file: string, size: number): OpenBytes {
  const descriptor = openSync(file, 'r');
  const chunk = new Uint8Array(Math.min(CHUNK_BYTES, size));
  let start = 0;
  let filled = 0;
  const load = (offset: number): void => {
    start = offset;
    for (filled = 0; filled < chunk.length; ) {
      const read = readSync(descriptor, chunk, filled, chunk.length - filled, offset + filled);
      if (read === 0) break;
      filled += read;
    }
  };
  const source: OpenBytes = {
    size,
    read(offset, length) {
      try {
        if (offset < start || offset + length > start + filled) load(offset);
      } catch (error) {
        source.onReady(error as Error);
        return null;
      }
      return chunk.subarray(offset - start, Math.min(offset - start + length, filled));
    },
    onReady: () => undefined,
    close: () => closeSync(descriptor),
  };
  return source;
}
