// The state folder holds keys, tokens and the store, so only the user of the appliance may read it.

import { chmodSync, statSync } from 'node:fs';

const MODE = 0o700;
const OTHERS = 0o077;

interface Log {
  warn(fields: object, message: string): void;
}

/** Takes access from others where an older version or an installer left some. A folder that is missing is created by the store. */
export function closeStateFolder(folder: string, log: Log): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory() || (found.mode & OTHERS) === 0) return;
  chmodSync(folder, MODE);
  const was = (found.mode & 0o777).toString(8).padStart(4, '0');
  log.warn({ folder, mode: was }, 'the state folder was open to other users; it is closed now (mode 0700)');
}
