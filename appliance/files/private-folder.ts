// A folder for secrets: it is made if it is missing, and only its owner may use it.

import { chmod, mkdir } from 'node:fs/promises';
import { otherUsersAccess } from './other-users.ts';

const MODE = 0o700;

/** A text: why it is not used. Its mode is then unchanged. */
export async function makePrivateFolder(folder: string): Promise<string | null> {
  const reason = await otherUsersAccess(folder);
  if (reason !== null) return reason;
  await mkdir(folder, { recursive: true, mode: MODE });
  await chmod(folder, MODE);
  return null;
}
