// Removes what a rack leaves behind when its owner is killed: namespaces, processes in them, files. The name identifies the
// owner.

import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './command.ts';

const PREFIX = 'coldiron-rack-';
const NAMESPACES = '/run/netns';

export const folderOf = (name: string): string => join(tmpdir(), name);

/**
 * A unique name, reserved by creating its folder. Process ids are reused; a process id together with its start time
 * identifies one process.
 */
export async function claimName(): Promise<string> {
  const own = `${PREFIX}${process.pid}-${await startOf(process.pid)}-`;
  for (let number = 1; ; number += 1) {
    const taken = await mkdir(folderOf(`${own}${number}`), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return 'taken' as const;
      throw error;
    });
    if (taken !== 'taken') return `${own}${number}`;
  }
}

/** Removes everything of owners that no longer run. Returns the names. */
export async function sweepLeftovers(): Promise<readonly string[]> {
  const swept: string[] = [];
  for (const name of await rackNames()) {
    const [, pid = '', start = ''] = /^coldiron-rack-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
    if (pid === '' || (await startOf(Number(pid))) === start) continue;
    await removeNamespace(name);
    await rm(folderOf(name), { recursive: true, force: true });
    swept.push(name);
  }
  return swept;
}

/** Another process may remove it at the same time. */
export async function removeNamespace(name: string): Promise<void> {
  const isThere = async (): Promise<boolean> => (await namesIn(NAMESPACES)).includes(name);
  if (!(await isThere())) return;
  await emptyAndDelete(name).catch(async (error: unknown) => {
    if (await isThere()) throw error;
  });
}

/** Kills the processes in it first: they would keep the namespace alive without a name. */
async function emptyAndDelete(name: string): Promise<void> {
  for (const pid of (await runCommand('ip', 'netns', 'pids', name)).split('\n').filter((line) => line !== '')) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  await runCommand('ip', 'netns', 'delete', name);
}

const rackNames = async (): Promise<readonly string[]> => [
  ...new Set([...(await namesIn(NAMESPACES)), ...(await namesIn(tmpdir()))].filter((name) => name.startsWith(PREFIX))),
];

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

/**
 * proc(5): the 22nd field of stat, counted from behind the name, which may contain anything. Null: no such process, or a
 * zombie whose parent has not collected its exit status.
 */
export async function startOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  });
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === 'Z' || state === 'X' ? null : (fields[18] ?? null);
}
