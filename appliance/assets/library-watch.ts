// Notices new and changed boot files at once. Each folder of the library is watched by itself: a recursive watch misses files
// that are created in a folder before its watcher is set. The caller also polls slowly, for folders that cannot be watched
// (network file systems, exhausted inotify watches).

import { type FSWatcher, watch } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface LibraryWatchDeps {
  /** <state>/assets; it is created if it does not exist, because only what exists can be watched. */
  readonly folder: string;
  /** Rescans the library. */
  readonly onChange: () => Promise<void>;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
  /** A file counts as complete when it has not changed for this long. */
  readonly settleMs?: number;
}

const SETTLE_MS = 200;
/** nixos/<profile>/bzImage, images/<image>/…: the depth that the library scans. */
const DEEPEST = 4;

/** Ignores our own checksum index, whose writes would trigger another scan, and hidden files, which are unfinished. */
export const isOfInterest = (name: string | null): boolean =>
  name === null || !(name.startsWith('.') || /^index\.json(?:\.new)?$/.test(name));

export class LibraryWatch {
  readonly #deps: LibraryWatchDeps;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> = Promise.resolve();
  #ended = false;
  #complained = false;

  private constructor(deps: LibraryWatchDeps) {
    this.#deps = deps;
  }

  static async start(deps: LibraryWatchDeps): Promise<LibraryWatch> {
    const library = new LibraryWatch(deps);
    await mkdir(deps.folder, { recursive: true });
    await library.#follow();
    return library;
  }

  async stop(): Promise<void> {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#turn;
  }

  readonly #changed = (_event: string, name: string | null): void => {
    if (isOfInterest(name)) this.#schedule();
  };

  #schedule(): void {
    if (this.#ended) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#turn = this.#turn.then(() => this.#look());
    }, this.#deps.settleMs ?? SETTLE_MS);
  }

  async #look(): Promise<void> {
    if (this.#ended) return;
    try {
      // A file may have been created in a new folder before its watcher was set.
      if (await this.#follow()) this.#schedule();
      await this.#deps.onChange();
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the library of boot files could not be looked at; it is tried again');
    }
  }

  /** Watches all existing folders. True: some of them were not watched before. */
  async #follow(): Promise<boolean> {
    const folders = new Set(await foldersBelow(this.#deps.folder, 0));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    let added = false;
    for (const folder of folders) added = this.#watch(folder) || added;
    return added;
  }

  #watch(folder: string): boolean {
    if (this.#ended || this.#watchers.has(folder)) return false;
    try {
      const watcher = watch(folder, this.#changed);
      // The folder is gone, or no longer readable: the next scan handles it.
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(folder);
        this.#schedule();
      });
      this.#watchers.set(folder, watcher);
      return true;
    } catch (error) {
      if (!this.#complained) {
        const words = 'boot files cannot be watched; changes are noticed by the next regular look';
        this.#deps.log.warn({ err: error, folder }, words);
      }
      this.#complained = true;
      return false;
    }
  }
}

/** Links are not followed: a link into the Nix store is replaced, and its target never changes. */
async function foldersBelow(folder: string, depth: number): Promise<string[]> {
  if (depth === DEEPEST) return [folder];
  const children = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (children === null) return [];
  const below = children.filter((child) => child.isDirectory() && !child.name.startsWith('.'));
  const found = await Promise.all(below.map(({ name }) => foldersBelow(join(folder, name), depth + 1)));
  return [folder, ...found.flat()];
}
