// Checksums, cached beside the files in index.json: an appliance with ten gigabytes of images starts in milliseconds, because
// only changed files are hashed again. A file is unchanged while its size, modification time and inode are.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';

interface Known {
  readonly stamp: string;
  readonly sha256: string;
}

/** `bytes`: only the beginning of the file. */
export async function sha256OfFile(file: string, bytes = Number.POSITIVE_INFINITY): Promise<string> {
  const hash = createHash('sha256');
  if (bytes > 0) {
    const part = { end: bytes - 1, highWaterMark: 1024 * 1024 };
    for await (const chunk of createReadStream(file, part)) hash.update(chunk);
  }
  return hash.digest('hex');
}

export class Checksums {
  readonly #file: string;
  #known: ReadonlyMap<string, Known>;
  readonly #seen = new Map<string, Known>();

  private constructor(file: string, known: ReadonlyMap<string, Known>) {
    this.#file = file;
    this.#known = known;
  }

  static async open(folder: string): Promise<Checksums> {
    const file = join(folder, 'index.json');
    return new Checksums(file, await readKnown(file));
  }

  /** Size and checksum of the same version: a file that changes while it is hashed is hashed again. */
  async of(name: string, file: string): Promise<{ size: number; sha256: string }> {
    return this.#of(name, file, Number.POSITIVE_INFINITY);
  }

  /** Of the first `bytes` of the file. */
  async ofBeginning(name: string, file: string, bytes: number): Promise<string> {
    return (await this.#of(`${name} (${bytes} bytes)`, file, bytes)).sha256;
  }

  async #of(key: string, file: string, bytes: number): Promise<{ size: number; sha256: string }> {
    for (;;) {
      const before = await stampOf(file);
      const known = this.#seen.get(key) ?? this.#known.get(key);
      const sha256 = known?.stamp === before.stamp ? known.sha256 : await sha256OfFile(file, bytes);
      if (known?.stamp !== before.stamp && (await stampOf(file)).stamp !== before.stamp) continue;
      this.#seen.set(key, { stamp: before.stamp, sha256 });
      return { size: before.size, sha256 };
    }
  }

  /** Writes the checksums used since `open`, if any of them changed. */
  async save(): Promise<void> {
    const same =
      this.#seen.size === this.#known.size &&
      [...this.#seen].every(([name, { stamp }]) => this.#known.get(name)?.stamp === stamp);
    if (same) return;
    const text = JSON.stringify({ version: VERSION, files: Object.fromEntries(this.#seen) }, null, 1);
    await replaceFile(this.#file, `${text}\n`, 0o644);
    this.#known = new Map(this.#seen);
  }
}

const VERSION = 1;
const MOST_BYTES = 16 * 1024 * 1024;

/** The index can be rebuilt from the files, so a missing or invalid one counts as empty. */
async function readKnown(file: string): Promise<ReadonlyMap<string, Known>> {
  const text = (await readRegularFile(file, MOST_BYTES))?.toString('utf8') ?? '{}';
  const known = new Map<string, Known>();
  try {
    const { version, files } = JSON.parse(text);
    if (version !== VERSION) return known;
    for (const [name, entry] of Object.entries<Partial<Known>>(files)) {
      const { stamp, sha256 } = entry;
      if (typeof stamp === 'string' && /^[0-9a-f]{64}$/.test(sha256 ?? '')) known.set(name, entry as Known);
    }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  return known;
}

async function stampOf(file: string): Promise<{ size: number; stamp: string }> {
  const { size, mtimeNs, ino } = await stat(file, { bigint: true });
  return { size: Number(size), stamp: `${size}:${mtimeNs}:${ino}` };
}
