// Reads secret files whose path comes from someone with fewer rights than the appliance: only below one folder.

import { constants, type FileHandle, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { type PrivateRead, readOpened } from './private-file.ts';

export interface Confinement {
  readonly folder: string;
  /** Nothing below this folder is read, even if it is below the other one. */
  readonly except: string;
  readonly mostBytes: number;
}

export type ConfinedRead = PrivateRead | { readonly kind: 'outside'; readonly reason: string };

/**
 * A path with `..` or a symbolic link that leaves the folder is `outside`, and nothing outside is opened. Like `readPrivately`, it
 * reads only regular files that are not world-readable.
 */
export async function readPrivatelyBelow(confinement: Confinement, file: string): Promise<ConfinedRead> {
  const { folder, except, mostBytes } = confinement;
  // Before the file system is asked: the answer must not depend on what exists elsewhere.
  if (!isBelow(resolve(folder), resolve(file))) return outside(`not below ${folder}`);
  try {
    const real = await realpath(file);
    const leaving = await leaves(folder, except, real);
    if (leaving !== null) return outside(leaving);
    // The last part of the real path is no link; a pipe is opened without waiting for its other end.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      // A folder on the way may have been replaced by a link since.
      const swapped = await leaves(folder, except, await openedPath(handle));
      return swapped === null ? await readOpened(handle, file, 'group', mostBytes) : outside(swapped);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'refused', reason: `${file} cannot be read: ${message}` };
  }
}

async function leaves(folder: string, except: string, real: string): Promise<string | null> {
  if (!isBelow(await realpath(folder), real)) return `a link that leaves ${folder}`;
  const excluded = await realpath(except).catch(() => resolve(except));
  return isBelow(excluded, real) ? `below ${except}, where the appliance keeps its own secrets` : null;
}

const outside = (reason: string): ConfinedRead => ({ kind: 'outside', reason });

/** proc(5): the path of the file that is open, however it was found. */
const openedPath = ({ fd }: FileHandle): Promise<string> => realpath(join('/proc/self/fd', String(fd)));

/** Both paths are absolute and have no `..`. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
