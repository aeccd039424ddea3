// File system errors as messages for the person who named the folder.

import { ColdironError } from '../domain/errors.ts';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  ENOTDIR: 'a part of its path is a file',
  EXDEV: 'a part of it is on another file system',
  ENAMETOOLONG: 'a name in it is too long',
};

/** A `not_writable` error if the cause is known; any other error unchanged, because it is a bug. */
export function notWritable(folder: string, error: unknown): unknown {
  const words = WORDS[codeOf(error)];
  return words === undefined ? error : new ColdironError('not_writable', `${folder} cannot be written: ${words}`);
}
