// Where things that take long to build are kept, by a name that says what went into them.

import { mkdir, rename, stat } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';

export const buildCache = (purpose: string): string => join(tmpdir(), `coldiron-${purpose}-${userInfo().uid}`);

/** Anybody can make a folder of this name in /tmp, and what lies in it is run as a machine's kernel. */
export async function openBuildCache(cache: string): Promise<void> {
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const { uid } = await stat(cache);
  if (uid !== userInfo().uid) {
    throw new ColdironError(
      'conflict',
      `${cache} belongs to another user (uid ${uid}): remove it, or name another cache`,
    );
  }
}

/** Whole or not at all; when somebody else was quicker, theirs is as good. */
export async function publish(built: string, place: string): Promise<void> {
  await rename(built, place).catch(async (error: NodeJS.ErrnoException) => {
    if (!['EEXIST', 'ENOTEMPTY'].includes(error.code ?? '')) throw error;
  });
}

export const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
