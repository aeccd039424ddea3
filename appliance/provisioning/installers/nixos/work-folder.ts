// A folder for one deployment that no other user can read, and that is always deleted afterwards.

import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ColdironError } from '../../../domain/errors.ts';
import { makePrivateFolder } from '../../../files/private-folder.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';
import { folderMode } from './ustar.ts';

const PREFIX = 'push-';

/** Creates `parent` if it is missing, for its owner only. */
export async function withWorkFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const reason = await makePrivateFolder(parent);
  if (reason !== null) throw new ColdironError('not_writable', `the files of the push cannot be written: ${reason}`);
  const folder = await mkdtemp(join(parent, PREFIX));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Deletes the folders of a killed process. Call it before any other is made. */
export async function removeWorkFolders(parent: string): Promise<void> {
  await rm(parent, { recursive: true, force: true });
}

export async function writeFiles(folder: string, files: readonly RenderedFile[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const { path, text, mode } of files) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { mode: 0o600, flag: 'wx' });
    // Whatever the umask: on the node it has this mode.
    await chmod(target, mode);
    for (let at = dirname(path); at !== '.'; at = dirname(at)) await chmod(join(folder, at), folderMode(at, files));
  }
}
