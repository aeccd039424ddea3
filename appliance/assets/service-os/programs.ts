// Collects programs with the libraries they need from a tree of unpacked packages, as archive entries.

import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import type { ArchiveEntry } from '../cpio.ts';
import { elfNeeds } from './elf.ts';
import type { Program } from './recipe.ts';

export interface ProgramTree {
  readonly root: string;
  /** Like lib/x86_64-linux-gnu; libraries are here or below usr/. */
  readonly libraries: string;
}

type FileEntry = Extract<ArchiveEntry, { kind: 'file' }>;

/** `more`: libraries that no program declares. Sorted by path. */
export async function programEntries(
  tree: ProgramTree,
  programs: readonly Program[],
  more: readonly string[],
): Promise<readonly FileEntry[]> {
  const entries = new Map<string, FileEntry>();
  const queue = [...more];
  const add = (path: string, bytes: Buffer): void => {
    entries.set(path, { path, kind: 'file', bytes, executable: true });
    const { loader, libraries } = elfNeeds(bytes, path);
    queue.push(...libraries, ...(loader === null ? [] : [loader]));
  };
  for (const { from, to } of programs) add(to, await readFirst(tree, [from, `usr/${from}`]));
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const path = name.startsWith('/') ? name.slice(1) : `${tree.libraries}/${name}`;
    // For the loader path that programs name, packages have an absolute link into the library folder.
    const places = [path, `usr/${path}`, `${tree.libraries}/${basename(path)}`];
    if (!entries.has(path)) add(path, await readFirst(tree, places));
  }
  return [...entries.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function readFirst({ root }: ProgramTree, paths: readonly string[]): Promise<Buffer> {
  for (const path of paths) {
    const file = await realpath(join(root, path)).catch(() => null);
    // An absolute link would resolve to this host's own files.
    if (file?.startsWith(`${await realpath(root)}/`)) return await readFile(file);
  }
  throw new ColdironError('service_unavailable', `none of the packages has ${paths.join(' or ')}`);
}

/** Every folder that contains one of the paths; parents first. */
export function foldersOf(paths: readonly string[]): readonly ArchiveEntry[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort().map((path) => ({ path, kind: 'folder' }));
}
