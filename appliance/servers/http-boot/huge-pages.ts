// Huge pages for files in memory. The kernel sends a file page by page, and the receiver copies it page by page: with pages of
// 2 MiB the same processors reach 1.5 times the throughput of 4 KiB pages. Requested explicitly (MADV_COLLAPSE, Linux 6.1),
// because most systems do not use them for files in memory by default.

import { writeSync } from 'node:fs';
import koffi from 'koffi';

/** The size on x86-64 and arm64 with 4 KiB base pages; another kernel refuses, and the pages stay unchanged. */
const HUGE = 2 * 1024 * 1024;

/** mman.h */
const PROT_NONE = 0;
const PROT_READ = 1;
const MAP_SHARED = 0x01;
const MAP_PRIVATE = 0x02;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
const MAP_NORESERVE = 0x4000;
const MADV_COLLAPSE = 25;

interface CLibrary {
  mmap(address: number, length: number, protection: number, flags: number, descriptor: number, offset: number): number;
  munmap(address: number, length: number): number;
  madvise: {
    async(address: number, length: number, advice: number, done: (error: Error | null, result: number) => void): void;
  };
}

let library: CLibrary | null = null;

function cLibrary(): CLibrary {
  const c = koffi.load(null);
  library ??= {
    mmap: c.func('int64_t mmap(int64_t address, size_t length, int protection, int flags, int file, int64_t offset)'),
    munmap: c.func('int munmap(int64_t address, size_t length)'),
    madvise: c.func('int madvise(int64_t address, size_t length, int advice)'),
  };
  return library;
}

/** A mapping of the file, needed only to replace its pages; nothing is read through it. */
export class HugePages {
  readonly #descriptor: number;
  readonly #length: number;
  readonly #area: number;
  /** The first address in the area that is aligned to a huge page. */
  readonly #window: number;
  #refused: boolean;

  /** `span`: the largest part of the file that is prepared at a time. */
  constructor(descriptor: number, span: number) {
    this.#descriptor = descriptor;
    this.#length = span + HUGE;
    const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    this.#area = cLibrary().mmap(0, this.#length, PROT_NONE, flags, -1, 0);
    this.#refused = this.#area < 0;
    this.#window = Math.ceil(this.#area / HUGE) * HUGE;
  }

  /** For a part of the file that is not written yet, so that there is nothing to copy. If refused, the pages stay unchanged. */
  async prepare(at: number, length: number): Promise<void> {
    const whole = at % HUGE === 0 ? length - (length % HUGE) : 0;
    if (this.#refused || whole === 0) return;
    const c = cLibrary();
    // A page must exist before it can be replaced.
    for (let page = 0; page < whole; page += HUGE) writeSync(this.#descriptor, ONE_BYTE, 0, 1, at + page);
    const mapped = c.mmap(this.#window, whole, PROT_READ, MAP_SHARED | MAP_FIXED, this.#descriptor, at);
    this.#refused = mapped < 0 || (await advise(c, this.#window, whole)) !== 0;
  }

  release(): void {
    if (this.#area >= 0) cLibrary().munmap(this.#area, this.#length);
  }
}

const ONE_BYTE = Buffer.alloc(1);

/** In Node's thread pool: the kernel may have to move other pages first. */
const advise = (c: CLibrary, address: number, length: number): Promise<number> =>
  new Promise((resolve, reject) => {
    c.madvise.async(address, length, MADV_COLLAPSE, (error, result) => (error ? reject(error) : resolve(result)));
  });
