// The database file. It contains hashes of secrets and the audit chain: only the appliance's user may read it.

import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { foreignLink, isTrusted } from '../../files/other-users.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** The first bytes of every database (SQLite file format §1.3). */
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');

/** Creates the folder and an empty file if they are missing. The modes do not depend on the umask. */
export function createDatabaseFile(file: string): void {
  explained(file, () => {
    const folder = dirname(file);
    if (mkdirSync(folder, { recursive: true, mode: FOLDER_MODE }) !== undefined) chmodSync(folder, FOLDER_MODE);
    closeSync(openSync(file, 'wx', FILE_MODE));
    chmodSync(file, FILE_MODE);
  });
}

/**
 * False when there is none. Any other file is refused here, because SQLite treats a file of a few bytes as an empty database
 * and would overwrite it.
 */
export function isDatabaseFile(file: string): boolean {
  return explained(file, () => {
    const found = ownFile(file);
    if (!found) return false;
    if (found.size > 0 && !firstBytes(file).equals(MAGIC)) {
      throw new ColdironError('store_unavailable', `${file} is not a SQLite database: use another file`);
    }
    return true;
  });
}

/** Before SQLite opens them: it writes to the log and its index whatever they are. */
export function checkCompanionFiles(file: string): void {
  explained(file, () => {
    for (const path of companions(file)) {
      const found = ownFile(path);
      if (found && found.nlink > 1)
        throw unusable(`${path} has another name (a hard link): it would be overwritten there too`);
    }
  });
}

const companions = (file: string): readonly string[] => [`${file}-wal`, `${file}-shm`];

/** Removes the access of other users, which a copy or a restored backup may have. */
export function tightenDatabaseFile(file: string): void {
  explained(file, () => {
    // SQLite copies the mode of the database to the two other files only when it creates them.
    for (const path of [file, ...companions(file)]) {
      const found = ownFile(path);
      if (!found || (found.mode & 0o777) === FILE_MODE) continue;
      if (found.nlink > 1) throw unusable(`${path} has another name (a hard link): its mode would change there too`);
      chmodSync(path, FILE_MODE);
    }
  });
}

/** Undefined: there is none. SQLite follows links and waits for pipes; neither is accepted from another user. */
function ownFile(path: string): Stats | undefined {
  const made = lstatSync(path, { throwIfNoEntry: false });
  if (made?.isSymbolicLink() && !isTrusted(made.uid)) throw unusable(foreignLink(path, made));
  const found = made?.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : made;
  if (found?.isDirectory()) throw unusable(`${path} is a folder: use a file in it`);
  if (found && !found.isFile()) throw unusable(`${path} is not a file`);
  if (found && !isTrusted(found.uid)) throw unusable(`${path} belongs to another user (uid ${found.uid})`);
  return found;
}

const unusable = (reason: string): ColdironError => new ColdironError('store_unavailable', reason);

function firstBytes(file: string): Buffer {
  const bytes = Buffer.alloc(MAGIC.length);
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
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
