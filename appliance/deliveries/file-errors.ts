// What the file system says, in words for whoever named the folder.

import { ColdironError } from '../domain/errors.ts';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'it is on a file system that can only be read',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your share of the disk is used up',
  ENOTDIR: 'a part of its path is a file',
  EXDEV: 'a part of it is on another file system',
  ENAMETOOLONG: 'a name in it is too long',
};

/** A failure that has words; everything else is somebody's mistake, and stays as it is. */
export function notWritable(folder: string, error: unknown): unknown {
  const words = WORDS[codeOf(error)];
  return words === undefined ? error : new ColdironError('not_writable', `${folder} cannot be written: ${words}`);
}
