// Where the bytes of a served file come from: memory for what many machines fetch, the disk for the rest. All transfers of
// a file share one descriptor, and all that are served from memory share the same copy.

import { type FileHandle, open } from 'node:fs/promises';
import type { Asset } from '../../assets/asset.ts';
import { ColdironError } from '../../domain/errors.ts';
import { MemoryFile } from './memory-file.ts';
import { SliceRoom } from './slice-room.ts';

export type ServedFile = Pick<Asset, 'name' | 'file' | 'size' | 'sha256'>;

interface OpenFile {
  readonly opening: Promise<FileHandle>;
  readonly size: number;
  /** The whole file, once it has been read. */
  memory: MemoryFile | null;
  /** It counts against the budget from the moment its reading begins. */
  held: boolean;
  users: number;
}

/** One transfer's hold on a file. */
export interface BorrowedFile {
  /** Where it is held in memory, if it is. */
  readonly memory: MemoryFile | null;
  /** Slices of the range, in order. A slice is valid until the next one is asked for. */
  slices(start: number, end: number): AsyncGenerator<Buffer>;
  release(): void;
}

/** Less than this of a file is no reason to read all of it: a look at its beginning, a sector. */
const WORTH_HOLDING = 1024 * 1024;

export class FileBytes {
  readonly #budget: number;
  readonly #onTrouble: (error: unknown, name: string) => void;
  /** In the order of their last use. */
  readonly #files = new Map<string, OpenFile>();
  readonly #loads = new Set<Promise<void>>();
  readonly #room = new SliceRoom();
  #closed = false;

  constructor(budget: number, onTrouble: (error: unknown, name: string) => void) {
    this.#budget = budget;
    this.#onTrouble = onTrouble;
  }

  /** Bytes held in memory for files, being read ones included. */
  get heldBytes(): number {
    let sum = 0;
    for (const file of this.#files.values()) if (file.held) sum += file.size;
    return sum;
  }

  /** Bytes lent to transfers that read from the disk. */
  get lentBytes(): number {
    return this.#room.lentBytes;
  }

  get openFiles(): number {
    return this.#files.size;
  }

  /** `wanted`: how many of its bytes. `service_unavailable` when the file is not what the library says it is. */
  async borrow(asset: ServedFile, wanted = asset.size): Promise<BorrowedFile> {
    if (this.#closed) throw new ColdironError('service_unavailable', 'the boot server is stopping');
    // A file that was replaced is another one, even under the same name.
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
      const isWorthIt = wanted >= Math.min(file.size, WORTH_HOLDING);
      if (!file.held && isWorthIt && this.#makeRoom(file.size)) this.#load(key, file, handle, asset.name);
      const { memory } = file;
      const read: ReadAt = memory
        ? (into, length, at) => memory.read(into, length, at)
        : (into, length, at) => handle.read(into, 0, length, at);
      return { memory, slices: (start, end) => slicesOf(read, start, end, this.#room), release };
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

  /** Puts out files that nobody reads at the moment, the longest unused first. */
  #makeRoom(size: number): boolean {
    if (size > this.#budget || this.#closed) return false;
    let free = this.#budget - this.heldBytes;
    const idle = [...this.#files].filter(([, file]) => file.held && file.users === 0);
    const sacrificed: [string, OpenFile][] = [];
    for (const entry of idle) {
      if (free >= size) break;
      sacrificed.push(entry);
      free += entry[1].size;
    }
    if (free < size) return false;
    for (const [key, file] of sacrificed) this.#close(key, file);
    return true;
  }

  /** Reads it in the background: meanwhile, transfers are served from the disk and nobody waits. */
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
        this.#onTrouble(error, name);
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
  throw new ColdironError('service_unavailable', `${asset.name} has changed on disk since the library looked at it`);
}

type ReadAt = (into: Buffer, length: number, at: number) => Promise<{ readonly bytesRead: number }>;

async function* slicesOf(read: ReadAt, start: number, end: number, room: SliceRoom): AsyncGenerator<Buffer> {
  const loan = room.borrow(end - start);
  const spare = [0, 1].map(() => Buffer.allocUnsafeSlow(loan.size));
  const readAt = async (at: number, into: Buffer): Promise<Buffer> => {
    const { bytesRead } = await read(into, Math.min(into.length, end - at), at);
    if (bytesRead === 0) throw new Error(`the file ends at byte ${at}, before ${end}`);
    return into.subarray(0, bytesRead);
  };
  let next: Promise<Buffer> | null = null;
  try {
    for (let at = start, turn = 0; at < end; turn += 1) {
      const slice: Buffer = await (next ?? readAt(at, spare[turn % 2] as Buffer));
      at += slice.length;
      next = at < end ? readAt(at, spare[(turn + 1) % 2] as Buffer) : null;
      // It may fail while the slice before it is still being sent; the turn that needs it tells.
      next?.catch(() => undefined);
      yield slice;
    }
  } finally {
    // Whoever stops early releases the file next: nothing may still be reading from it.
    await next?.catch(() => undefined);
    loan.giveBack();
  }
}
