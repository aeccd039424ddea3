// Source of the bytes of a served file: memory for files that many machines fetch, the disk for the rest. All transfers of a
// file share one descriptor, and all transfers from memory share one copy.

import { type FileHandle, open } from 'node:fs/promises';
import type { Asset } from '../../assets/asset.ts';
import { ColdironError } from '../../domain/errors.ts';
import { MemoryFile } from './memory-file.ts';
import { SliceBudget } from './slice-budget.ts';

export type ServedFile = Pick<Asset, 'name' | 'file' | 'size' | 'sha256'>;

interface OpenFile {
  readonly opening: Promise<FileHandle>;
  readonly size: number;
  /** The whole file, once it has been read. */
  memory: MemoryFile | null;
  /** Counts against the budget from the start of the load. */
  held: boolean;
  users: number;
}

/** One transfer's reference to a file. */
export interface BorrowedFile {
  /** The copy in memory, if there is one. */
  readonly memory: MemoryFile | null;
  /** Slices of the range, in order. A slice is valid until the next one is requested. */
  slices(start: number, end: number): AsyncGenerator<Buffer>;
  release(): void;
}

/** A smaller range (a file header, a sector) does not load the whole file. */
const MIN_BYTES_TO_LOAD = 1024 * 1024;

export class FileBytes {
  readonly #budget: number;
  readonly #onLoadFailure: (error: unknown, name: string) => void;
  /** Least recently used first. */
  readonly #files = new Map<string, OpenFile>();
  readonly #loads = new Set<Promise<void>>();
  readonly #slices = new SliceBudget();
  #closed = false;

  constructor(budget: number, onLoadFailure: (error: unknown, name: string) => void) {
    this.#budget = budget;
    this.#onLoadFailure = onLoadFailure;
  }

  /** Bytes of files in memory, including those being loaded. */
  get heldBytes(): number {
    let sum = 0;
    for (const file of this.#files.values()) if (file.held) sum += file.size;
    return sum;
  }

  /** Buffer bytes in use by transfers that read from the disk. */
  get bufferBytes(): number {
    return this.#slices.bytesInUse;
  }

  get openFiles(): number {
    return this.#files.size;
  }

  /** `wanted`: the number of bytes needed. Throws `service_unavailable` if the file differs from the library's record. */
  async borrow(asset: ServedFile, wanted = asset.size): Promise<BorrowedFile> {
    if (this.#closed) throw new ColdironError('service_unavailable', 'the boot server is stopping');
    // A replaced file is a new entry, even with the same name.
    const key = `${asset.sha256} ${asset.file}`;
    const file = this.#files.get(key) ?? {
      opening: openSized(asset),
      size: asset.size,
      memory: null,
      held: false,
      users: 0,
    };
    this.#files.delete(key);
    this.#files.set(key, file);
    file.users += 1;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      file.users -= 1;
      if (file.users === 0 && !file.held) this.#close(key, file);
    };
    try {
      const handle = await file.opening;
      const isLargeEnough = wanted >= Math.min(file.size, MIN_BYTES_TO_LOAD);
      if (!file.held && isLargeEnough && this.#makeRoom(file.size)) this.#load(key, file, handle, asset.name);
      const { memory } = file;
      const read: ReadAt = memory
        ? (into, length, at) => memory.read(into, length, at)
        : (into, length, at) => handle.read(into, 0, length, at);
      return { memory, slices: (start, end) => slicesOf(read, start, end, this.#slices), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#loads);
    for (const [key, file] of this.#files) if (file.users === 0) this.#close(key, file);
  }

  /** Evicts files that are not in use, the least recently used first. */
  #makeRoom(size: number): boolean {
    if (size > this.#budget || this.#closed) return false;
    let free = this.#budget - this.heldBytes;
    const idle = [...this.#files].filter(([, file]) => file.held && file.users === 0);
    const evicted: [string, OpenFile][] = [];
    for (const entry of idle) {
      if (free >= size) break;
      evicted.push(entry);
      free += entry[1].size;
    }
    if (free < size) return false;
    for (const [key, file] of evicted) this.#close(key, file);
    return true;
  }

  /** Loads in the background; until then transfers read from the disk. */
  #load(key: string, file: OpenFile, handle: FileHandle, name: string): void {
    file.held = true;
    file.users += 1;
    const load = MemoryFile.copyOf(handle, file.size, () => this.#closed)
      .then((memory) => {
        file.memory = memory;
        file.held = memory !== null;
      })
      .catch((error: unknown) => {
        file.held = false;
        this.#onLoadFailure(error, name);
      })
      .finally(() => {
        file.users -= 1;
        this.#loads.delete(load);
        if (file.users === 0 && !file.held) this.#close(key, file);
      });
    this.#loads.add(load);
  }

  #close(key: string, file: OpenFile): void {
    if (this.#files.get(key) === file) this.#files.delete(key);
    file.held = false;
    file.memory?.close();
    file.memory = null;
    file.opening.then((handle) => handle.close()).catch(() => undefined);
  }
}

async function openSized(asset: ServedFile): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(asset.file);
  } catch (error) {
    throw new ColdironError('service_unavailable', `${asset.name} cannot be read: ${(error as Error).message}`);
  }
  const { size } = await handle.stat();
  if (size === asset.size) return handle;
  await handle.close();
  throw new ColdironError('service_unavailable', `${asset.name} has changed on disk since the library read it`);
}

type ReadAt = (into: Buffer, length: number, at: number) => Promise<{ readonly bytesRead: number }>;

async function* slicesOf(read: ReadAt, start: number, end: number, budget: SliceBudget): AsyncGenerator<Buffer> {
  const grant = budget.borrow(end - start);
  const buffers = [0, 1].map(() => Buffer.allocUnsafeSlow(grant.size));
  const readAt = async (at: number, into: Buffer): Promise<Buffer> => {
    const { bytesRead } = await read(into, Math.min(into.length, end - at), at);
    if (bytesRead === 0) throw new Error(`the file ends at byte ${at}, before ${end}`);
    return into.subarray(0, bytesRead);
  };
  let next: Promise<Buffer> | null = null;
  try {
    for (let at = start, turn = 0; at < end; turn += 1) {
      const slice: Buffer = await (next ?? readAt(at, buffers[turn % 2] as Buffer));
      at += slice.length;
      next = at < end ? readAt(at, buffers[(turn + 1) % 2] as Buffer) : null;
      // It may fail while the previous slice is still being sent; the iteration that awaits it throws.
      next?.catch(() => undefined);
      yield slice;
    }
  } finally {
    // A caller that stops early releases the file next: no read may still be running.
    await next?.catch(() => undefined);
    grant.giveBack();
  }
}
