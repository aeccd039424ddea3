// Reads and replaces small files of the appliance as a whole: neither follows a link that somebody put in the way, and neither waits
// for a pipe.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A name beside the file that nobody can guess. */
export const draftOf = (file: string): string => join(dirname(file), `.${basename(file)}.${randomUUID()}`);

/** Atomic, and independent of the umask only where the mode has no more than it allows. */
export async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const draft = draftOf(file);
  try {
    await writeFile(draft, text, { mode, flag: 'wx' });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Null: there is no such file, or it is a link or anything else than a file. */
export async function readRegularFile(file: string, mostBytes: number): Promise<Buffer | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(error.code ?? '')) return null;
    throw error;
  });
  try {
    const found = await handle?.stat();
    return handle && found?.isFile() && found.size <= mostBytes ? await handle.readFile() : null;
  } finally {
    await handle?.close();
  }
}
