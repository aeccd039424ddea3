// Free space of the folders that the appliance writes to.

import { statfs } from 'node:fs/promises';
import type { FoundProblem } from '../domain/appliance-problem.ts';
import { bytesInWords } from '../domain/byte-size.ts';
import { shellWord } from './next-steps.ts';

const MEBIBYTE = 1024 * 1024;
/** The store needs this for its next write: below, it may fail at any moment. */
const FULL_BELOW = 4 * MEBIBYTE;
/** A service OS is larger than this. */
const LOW_BELOW = 256 * MEBIBYTE;

export interface FreeSpace {
  readonly folder: string;
  readonly bytes: number;
  /** False: it has space, and no file can be created in it. */
  readonly hasInodes: boolean;
}

/** Null: the folder does not exist yet, or cannot be examined. */
export async function freeSpaceOf(folder: string): Promise<FreeSpace | null> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return null;
  // Some file systems have no fixed number of inodes and report 0 of 0.
  return { folder, bytes: found.bavail * found.bsize, hasInodes: found.files === 0 || found.ffree > 0 };
}

/** `of`: one entry for each folder; folders on the same file system are one problem, that of the first. */
export function diskProblems(of: readonly FreeSpace[]): FoundProblem[] {
  return of.flatMap(({ folder, bytes, hasInodes }): FoundProblem[] => {
    const nextStep = `df -h ${shellWord(folder)}`;
    if (!hasInodes) {
      const words = `no file can be created in ${folder}: its file system has no free inodes`;
      return [{ id: 'disk-full', subject: folder, words, nextStep: `df -i ${shellWord(folder)}`, freeBytes: bytes }];
    }
    if (bytes >= LOW_BELOW) return [];
    const isFull = bytes < FULL_BELOW;
    const words = isFull
      ? `the disk of ${folder} is full (${bytesInWords(bytes)} free): nothing can be recorded, and machines wait`
      : `the disk of ${folder} is nearly full: ${bytesInWords(bytes)} free`;
    return [{ id: isFull ? 'disk-full' : 'disk-low', subject: folder, words, nextStep, freeBytes: bytes }];
  });
}
