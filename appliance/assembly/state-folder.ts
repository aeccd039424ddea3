// The state folder holds keys, tokens and the store, so only the appliance's user may read it, and nobody else may have put anything
// into it.

import { chmod, stat } from 'node:fs/promises';
import { ColdironError } from '../domain/errors.ts';
import { foreignEntries, otherUsersAccess } from '../files/other-users.ts';

const MODE = 0o700;
const OTHERS = 0o077;
const MOST_NAMED = 10;

interface Log {
  warn(fields: object, message: string): void;
}

/**
 * Rejects a folder that another user could replace, and one with links, pipes or files of another user. Removes access for others
 * that an older version or an installer left. The store creates a missing folder.
 */
export async function secureStateFolder(folder: string, log: Log): Promise<void> {
  const reason = await otherUsersAccess(folder);
  if (reason !== null) throw unsafe(`the state folder ${folder} is not safe: ${reason}`, []);
  const found = await stat(folder).catch(() => null);
  if (!found?.isDirectory()) return;
  const foreign = await foreignEntries(folder, MOST_NAMED);
  if (foreign.length > 0) throw unsafe(`the state folder ${folder} has entries that are not the appliance's`, foreign);
  if ((found.mode & OTHERS) === 0) return;
  await chmod(folder, MODE);
  const was = (found.mode & 0o777).toString(8).padStart(4, '0');
  log.warn({ folder, mode: was }, 'the state folder was accessible to other users; its mode is now 0700');
}

const unsafe = (message: string, details: readonly string[]): ColdironError =>
  new ColdironError('invalid_config', message, details, HINT);

const HINT =
  'Remove what is not yours, or change its owner; the folders above must belong to root or to the user of the appliance, and nobody else may write to them.';
