// The state folder holds keys, tokens and the store, so only the appliance's user may read it.

import { chmodSync, statSync } from 'node:fs';

const MODE = 0o700;
const OTHERS = 0o077;

interface Log {
  warn(fields: object, message: string): void;
}

/** Removes access for others that an older version or an installer left. The store creates a missing folder. */
export function closeStateFolder(folder: string, log: Log): void {
  const folderStat = statSync(folder, { throwIfNoEntry: false });
  if (!folderStat?.isDirectory() || (folderStat.mode & OTHERS) === 0) return;
  chmodSync(folder, MODE);
  const was = (folderStat.mode & 0o777).toString(8).padStart(4, '0');
  log.warn({ folder, mode: was }, 'the state folder was accessible to other users; its mode is now 0700');
}
