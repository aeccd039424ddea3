// Files that contain secrets: written atomically, read only if other users have no access.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { foreignLink, isTrusted } from '../../files/other-users.ts';

/** Atomic: links the final name only after the content is on disk. Never replaces a file. */
export const writeOnce = (file: string, content: string): Promise<void> =>
  write(file, content, (draft) =>
    link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    }),
  );

/** The same, but replaces an existing file. */
export const replacePrivately = (file: string, content: string): Promise<void> =>
  write(file, content, (draft) => rename(draft, file));

async function write(file: string, content: string, publish: (draft: string) => Promise<void>): Promise<void> {
  const folder = dirname(file);
  const draft = join(folder, `.secret.${randomUUID()}`);
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await publish(draft);
  } finally {
    await rm(draft, { force: true });
  }
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

export type PrivateRead =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly reason: string };

/** Who may read a secret file, besides its owner. */
export type Readers = 'nobody' | 'group';

const FORBIDDEN: Readonly<Record<Readers, number>> = { nobody: 0o077, group: 0o007 };
/** Far more than any key or password; a device or a wrong path is not read to its end. */
const MAX_BYTES = 64 * 1024;

/**
 * Checks mode and owner on the open file, so that the path cannot be swapped in between. A link counts only if root or this user made
 * it, and a file that only its owner may read must be theirs: another user's key is known to that user.
 */
export async function readPrivately(file: string, alsoReadableBy: Readers): Promise<PrivateRead> {
  try {
    const handle = await openToRead(file);
    if (typeof handle === 'string') return refused(handle);
    try {
      return await readOpened(handle, file, alsoReadableBy, MAX_BYTES);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'absent' } : refused(`${file} cannot be read: ${message}`);
  }
}

/** Does not wait for a pipe. A text: why it is not opened. */
async function openToRead(file: string): Promise<FileHandle | string> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  try {
    return await open(file, flags | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
  }
  const made = await lstat(file);
  return isTrusted(made.uid) ? open(file, flags) : foreignLink(file, made);
}

/** `file`: for the reason. */
export async function readOpened(
  handle: FileHandle,
  file: string,
  alsoReadableBy: Readers,
  mostBytes: number,
): Promise<PrivateRead> {
  const found = await handle.stat();
  const mode = found.mode & 0o777;
  if (!found.isFile()) return refused(`${file} is not a file`);
  if (alsoReadableBy === 'nobody' && !isTrusted(found.uid))
    return refused(`${file} belongs to another user (uid ${found.uid})`);
  if ((mode & FORBIDDEN[alsoReadableBy]) !== 0) {
    const others = alsoReadableBy === 'nobody' ? 'others' : 'everybody';
    return refused(
      `${file} is accessible to ${others} (mode ${octal(mode)}): chmod ${repaired(alsoReadableBy)} ${file}`,
    );
  }
  // Not more than that, whatever size the file claims to have.
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(mostBytes + 1), 0, mostBytes + 1, 0);
  if (bytesRead > mostBytes) return refused(`${file} is too large: a secret file has at most ${mostBytes} bytes`);
  return { kind: 'read', bytes: buffer.subarray(0, bytesRead) };
}

const refused = (reason: string): PrivateRead => ({ kind: 'refused', reason });
const octal = (mode: number): string => mode.toString(8).padStart(4, '0');
const repaired = (readers: Readers): string => (readers === 'nobody' ? '0600' : '0640');
