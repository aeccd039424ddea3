// The folder that keeps slow builds. The name of each entry is derived from its inputs.

import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../domain/errors.ts';

export const buildCache = (purpose: string): string => join(tmpdir(), `coldiron-${purpose}-${userInfo().uid}`);

/** Any user can create a folder of this name in /tmp, and its contents run as a machine's kernel. */
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

const POLL_EVERY_MS = 500;

/**
 * Builds `place` unless it exists. If another process is building it, waits for that one. This only saves work; it is not a lock:
 * the mark of a builder that was killed is removed, and two builders that start together publish the same bytes.
 */
export async function buildOnce(place: string, build: () => Promise<void>): Promise<void> {
  const mark = `${place}.building`;
  while (!(await exists(place))) {
    const isOurs = await writeFile(mark, String(process.pid), { flag: 'wx' }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    if (isOurs) {
      try {
        return await build();
      } finally {
        await rm(mark, { force: true });
      }
    }
    const builder = Number(await readFile(mark, 'utf8').catch(() => ''));
    // The mark is still empty, or was removed meanwhile.
    if (builder > 0 && !isRunning(builder)) await rm(mark, { force: true });
    else await pause(POLL_EVERY_MS);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Atomic. If another process published first, its result is kept: it is the same. */
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
