// The bytes of a transfer: small files whole in memory and shared by all who load them, large ones a piece at a time.

import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { Asset } from '../../assets/asset.ts';
import type { BlockSource } from '../../codecs/tftp/blocks.ts';

export interface OpenBytes extends BlockSource {
  /** Called when a read that gave null can be asked again, or never can. */
  onReady: (failure: Error | null) => void;
  close(): Promise<void>;
}

export function bytesInMemory(bytes: Uint8Array): OpenBytes {
  return {
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
    onReady: () => undefined,
    close: async () => undefined,
  };
}

export class HotFiles {
  /** By checksum: a file that changes is another one. The least recently used come first. */
  readonly #files = new Map<string, { readonly size: number; readonly bytes: Promise<Uint8Array> }>();
  readonly #budget: number;
  #held = 0;

  constructor(budgetBytes: number) {
    this.#budget = budgetBytes;
  }

  /** A file larger than a quarter of the budget is not kept: it would drive the loaders out. */
  async open(asset: Asset): Promise<OpenBytes> {
    if (asset.size > this.#budget / 4) return openPieces(asset);
    const bytes = await this.#load(asset);
    if (bytes.length !== asset.size) throw new Error(`${asset.name} has ${bytes.length} bytes, not ${asset.size}`);
    return bytesInMemory(bytes);
  }

  #load(asset: Asset): Promise<Uint8Array> {
    const { sha256, size, file } = asset;
    const known = this.#files.get(sha256);
    const entry = known ?? { size, bytes: readFile(file) };
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

/** At 1 MiB the wait for the disk is a few of the thousand blocks in it. */
const PIECE_BYTES = 1024 * 1024;

async function openPieces(asset: Asset): Promise<OpenBytes> {
  const handle = await open(asset.file);
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, asset.size));
  let start = 0;
  let filled = 0;
  let loaded = false;
  let loading: Promise<void> | null = null;

  const load = async (offset: number): Promise<void> => {
    try {
      // A read may give less than was asked for without being at the end.
      filled = await readFully(handle, piece, offset);
      start = offset;
      loaded = true;
      loading = null;
      source.onReady(null);
    } catch (error) {
      source.onReady(error as Error);
    }
  };
  const source: OpenBytes = {
    size: asset.size,
    read(offset, length) {
      if (offset >= start && offset + length <= start + filled) {
        return piece.subarray(offset - start, offset - start + length);
      }
      // Just read from there, and still not enough: the file has become shorter. Too few bytes tell the transfer so.
      if (loaded && offset === start && loading === null) return piece.subarray(0, filled);
      loading ??= load(offset);
      return null;
    },
    onReady: () => undefined,
    async close() {
      await loading;
      await handle.close();
    },
  };
  return source;
}

async function readFully(handle: FileHandle, target: Buffer, offset: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await handle.read(target, filled, target.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}
