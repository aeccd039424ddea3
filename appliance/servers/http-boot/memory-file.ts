// A file in memory only (memfd_create), so that the kernel can send it without a copy through this process and without
// waiting for the disk.

import { close, ftruncateSync, read, readSync, write } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { getSystemErrorName, promisify } from 'node:util';
import koffi from 'koffi';
import { HugePages } from './huge-pages.ts';

const CLOSE_ON_EXEC = 1;
const COPY_SLICE = 4 * 1024 * 1024;

const closeFile = promisify(close);
const readFile = promisify(read);
const writeFile = promisify(write);

let memfdCreate: ((name: string, flags: number) => number) | null = null;

export class MemoryFile {
  readonly descriptor: number;

  private constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  /** Null if `stop` returned true before the end. */
  static async copyOf(source: FileHandle, size: number, stop: () => boolean): Promise<MemoryFile | null> {
    memfdCreate ??= koffi.load(null).func('int memfd_create(const char *name, unsigned int flags)');
    const descriptor = memfdCreate('boot-file', CLOSE_ON_EXEC);
    if (descriptor < 0) throw new Error(`cannot create a file in memory: ${getSystemErrorName(-koffi.errno())}`);
    const file = new MemoryFile(descriptor);
    const pages = new HugePages(descriptor, COPY_SLICE);
    try {
      ftruncateSync(descriptor, size);
      const piece = Buffer.allocUnsafeSlow(Math.min(COPY_SLICE, Math.max(size, 1)));
      for (let at = 0; at < size; ) {
        if (stop()) {
          file.close();
          return null;
        }
        const wanted = Math.min(piece.length, size - at);
        await pages.prepare(at, wanted);
        const { bytesRead } = await source.read(piece, 0, wanted, at);
        if (bytesRead === 0) throw new Error(`the file ends at byte ${at} of ${size}`);
        for (let done = 0; done < bytesRead; ) {
          done += (await writeFile(descriptor, piece, done, bytesRead - done, at + done)).bytesWritten;
        }
        at += bytesRead;
      }
      return file;
    } catch (error) {
      file.close();
      throw error;
    } finally {
      pages.release();
    }
  }

  read(into: Buffer, length: number, at: number): Promise<{ bytesRead: number }> {
    return readFile(this.descriptor, into, 0, length, at);
  }

  /** Synchronous: reads from memory only. */
  peek(length: number, at: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(this.descriptor, bytes, 0, length, at));
  }

  close(): void {
    void closeFile(this.descriptor).catch(() => undefined);
  }
}
