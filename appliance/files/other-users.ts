// Whether another user could have put something at a path, or could replace it: an appliance that runs as root must not write through
// a link of somebody else. Trusted are root and the user of this process.

import type { Stats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';

const ROOT = 0;
const MOST_LINKS = 40;
const STICKY = 0o1000;

export const isTrusted = (uid: number): boolean => uid === ROOT || uid === process.getuid?.();

/**
 * Follows the path as the kernel does. Null: only trusted users can replace anything on the way. What does not exist yet counts as
 * safe; the mode of the last part does not count, because its owner may correct it.
 */
export async function otherUsersAccess(path: string): Promise<string | null> {
  const left = resolve(path).split('/').filter(isName);
  let [at, links] = ['/', 0];
  for (;;) {
    const here = await lstatOrNull(at);
    if (here === null) return null;
    if (!isTrusted(here.uid)) return belongsTo(at, here);
    const name = left.shift();
    if (name === undefined) return null;
    const writable = writableByOthers(here);
    if (writable !== null) return `${at} can be written by ${writable}`;
    const next = name === '..' ? dirname(at) : join(at, name);
    const found = await lstatOrNull(next);
    if (!found?.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isTrusted(found.uid)) return foreignLink(next, found);
    if (++links > MOST_LINKS) return `${next}: too many links`;
    const target = await readlink(next);
    left.unshift(...target.split('/').filter(isName));
    if (isAbsolute(target)) at = '/';
  }
}

const isName = (part: string): boolean => part !== '' && part !== '.';

const belongsTo = (path: string, { uid }: Stats): string => `${path} belongs to another user (uid ${uid})`;

export const foreignLink = (path: string, { uid }: Pick<Stats, 'uid'>): string =>
  `${path} is a link of another user (uid ${uid})`;

/** A sticky folder such as /tmp lets users replace only what is theirs. */
function writableByOthers({ mode, gid }: Stats): string | null {
  if ((mode & STICKY) !== 0) return null;
  if ((mode & 0o002) !== 0) return 'every user';
  const ownGroup = gid === ROOT || gid === process.getgid?.();
  return (mode & 0o020) !== 0 && !ownGroup ? `a group (gid ${gid})` : null;
}

/** Everything below a folder that another user made, or that blocks a reader. Links are not followed. */
export async function foreignEntries(folder: string, most: number): Promise<string[]> {
  const problems: string[] = [];
  const folders = [folder];
  for (let at = folders.shift(); at !== undefined && problems.length < most; at = folders.shift()) {
    for (const name of await readdir(at).catch(ifMissing)) {
      const path = join(at, name);
      const found = await lstatOrNull(path);
      if (found === null) continue;
      if (!isTrusted(found.uid))
        problems.push(found.isSymbolicLink() ? foreignLink(path, found) : belongsTo(path, found));
      else if (found.isDirectory()) folders.push(path);
      else if (!isOrdinary(found)) problems.push(`${path} is a pipe or a device`);
    }
  }
  return problems.slice(0, most);
}

const isOrdinary = (found: Stats): boolean => found.isFile() || found.isSymbolicLink() || found.isSocket();

const lstatOrNull = (path: string): Promise<Stats | null> =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });

function ifMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
