// The file below the store. It holds hashes of secrets and the audit chain: nobody but the appliance's own user reads it.

import { chmodSync, closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** How every database begins (SQLite file format §1.3). */
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');

/** Makes the folder and an empty file where they are missing. The modes hold whatever the umask is. */
export function createDatabaseFile(file: string): void {
  explained(file, () => {
    const folder = dirname(file);
    if (mkdirSync(folder, { recursive: true, mode: FOLDER_MODE }) !== undefined) chmodSync(folder, FOLDER_MODE);
    closeSync(openSync(file, 'wx', FILE_MODE));
    chmodSync(file, FILE_MODE);
  });
}

/**
 * False when there is none. A file that is something else is refused here, because SQLite takes one of a few bytes for an
 * empty database and would write over it.
 */
export function isDatabaseFile(file: string): boolean {
  return explained(file, () => {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return false;
    if (found.isDirectory()) throw new ColdironError('store_unavailable', `${file} is a folder: name a file in it`);
    if (found.size > 0 && !firstBytes(file).equals(MAGIC)) {
      throw new ColdironError('store_unavailable', `${file} is not a SQLite database: name another file`);
    }
    return true;
  });
}

/** Takes access from everybody else, where a copy or a restored backup left some. */
export function tightenDatabaseFile(file: string): void {
  explained(file, () => {
    // SQLite gives the two beside it the mode of the first when it makes them, not later.
    for (const path of [file, `${file}-wal`, `${file}-shm`]) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found && (found.mode & 0o777) !== FILE_MODE) chmodSync(path, FILE_MODE);
    }
  });
}

function firstBytes(file: string): Buffer {
  const bytes = Buffer.alloc(MAGIC.length);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  return bytes;
}

function explained<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ColdironError) throw error;
    const explanation = new ColdironError('store_unavailable', `cannot use ${file}: ${(error as Error).message}`);
    explanation.cause = error;
    throw explanation;
  }
}
