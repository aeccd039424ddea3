// Writes a rendering to disk. It is written to a sibling folder and renamed, so that a partial rendering is never visible; files
// in the folder that are not ours are kept.

import { randomUUID } from 'node:crypto';
import {
  chmod,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { isTrusted, otherUsersAccess } from '../files/other-users.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { isMissing, notWritable } from './file-errors.ts';
import { type FolderRecord, RECORD_NAME, readRecord, recordText, sha256Of } from './folder-record.ts';

export interface FolderRequest {
  readonly folder: string;
  readonly of: string;
  readonly inventoryRevision: number;
  readonly files: AsyncIterable<readonly RenderedFile[]> | Iterable<readonly RenderedFile[]>;
  /** Additional names for files in the folder: link → path, both relative to its root. */
  readonly links?: ReadonlyMap<string, string>;
  /** Also replace files that we did not write or that were changed. */
  readonly force: boolean;
}

/** `conflict` lists the files that are not ours; `not_writable` says why nothing can be written. Both leave the folder unchanged. */
export async function writeFolder(request: FolderRequest): Promise<FolderRecord> {
  const unsafe = await otherUsersAccess(request.folder);
  if (unsafe !== null) throw new ColdironError('not_writable', `${request.folder} is not safe to write: ${unsafe}`);
  const folder = await realpath(request.folder).catch(() => resolve(request.folder));
  try {
    await recoverInterrupted(folder);
    return await replaceFolder(folder, request);
  } catch (error) {
    throw notWritable(request.folder, error);
  }
}

async function replaceFolder(folder: string, request: FolderRequest): Promise<FolderRecord> {
  const present = await filesIn(folder);
  await mkdir(dirname(folder), { recursive: true });
  const draft = siblingOf(folder, 'new');
  await mkdir(draft, { mode: 0o700 });
  try {
    const record = await writeDraft(draft, request);
    if (present === null) {
      await rename(draft, folder);
      return record;
    }
    await keepForeignFiles(folder, draft, present, record, request);
    const before = siblingOf(folder, 'old');
    await rename(folder, before);
    await rename(draft, folder);
    await rm(before, { recursive: true, force: true });
    return record;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** In the same parent folder, so that a rename suffices. */
const siblingOf = (folder: string, what: 'new' | 'old'): string =>
  join(dirname(folder), `.${basename(folder)}.coldiron-${what}-${process.pid}-${randomUUID().slice(0, 8)}`);

/** After a killed process: restores a folder that was being replaced and deletes drafts. Skips those of running processes. */
async function recoverInterrupted(folder: string): Promise<void> {
  const prefix = `.${basename(folder)}.coldiron-`;
  const names = await readdir(dirname(folder)).catch((): string[] => []);
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const [what, pid] = name.slice(prefix.length).split('-');
    if (isAlive(Number(pid))) continue;
    const left = join(dirname(folder), name);
    const made = await lstat(left).catch(() => null);
    // Not one of ours: in a folder such as /tmp anybody can make this name.
    if (!made?.isDirectory() || !isTrusted(made.uid)) continue;
    const isNeeded = what === 'old' && (await lstat(folder).catch(() => null)) === null;
    if (isNeeded) await rename(left, folder);
    else await rm(left, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function writeDraft(
  draft: string,
  { of, inventoryRevision, files, links }: FolderRequest,
): Promise<FolderRecord> {
  const record: FolderRecord['files'][number][] = [];
  const folders = new Map([[draft, 0o755]]);
  for await (const batch of files) {
    for (const file of batch) {
      const place = join(draft, checkedPath(file.path));
      const parent = dirname(place);
      for (let at = parent; !folders.has(at); at = dirname(at)) folders.set(at, 0o755);
      // The folder of a private file is private too.
      if (file.secret || (file.mode & 0o077) === 0) folders.set(parent, 0o700);
      await mkdir(parent, { recursive: true, mode: 0o700 });
      await writeFile(place, file.text, { mode: 0o600, flag: 'wx' });
      await chmod(place, file.mode);
      const mode = file.mode.toString(8).padStart(4, '0');
      record.push({ path: file.path, mode, secret: file.secret, sha256: sha256Of(file.text) });
    }
  }
  const sorted = record.sort((a, b) => (a.path < b.path ? -1 : 1));
  const whole: FolderRecord = { of, inventory_revision: inventoryRevision, files: sorted };
  await writeFile(join(draft, RECORD_NAME), recordText(whole), { mode: 0o644, flag: 'wx' });
  for (const [name, path] of links ?? []) await symlink(checkedPath(path), join(draft, checkedPath(name)));
  for (const [path, mode] of folders) await chmod(path, mode);
  return whole;
}

/** Paths may come from another host's appliance: rejects those that leave the folder. */
function checkedPath(path: string): string {
  const parts = path.split('/');
  if (
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0')) &&
    path !== RECORD_NAME
  ) {
    return path;
  }
  throw new ColdironError('internal', `a rendering contains an invalid file name: ${JSON.stringify(path)}`);
}

/** All files below a folder, by path; no folders. Null: there is no such folder. */
async function filesIn(folder: string): Promise<string[] | null> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter((path) => path !== RECORD_NAME)
      .sort();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const MOST_NAMED = 10;

/** Links files that are not ours into the draft; throws if one of them collides with a rendered file. */
async function keepForeignFiles(
  folder: string,
  draft: string,
  present: readonly string[],
  record: FolderRecord,
  { folder: named, force, links }: FolderRequest,
): Promise<void> {
  const ours = await readRecord(folder);
  const next = new Set(record.files.map(({ path }) => path));
  const folders = new Set(record.files.flatMap(({ path }) => foldersAbove(path)));
  const collides = (path: string): boolean =>
    next.has(path) || links?.has(path) || folders.has(path) || foldersAbove(path).some((above) => next.has(above));
  const inTheWay: string[] = [];
  for (const path of present) {
    const isOurs = ours.has(path) && (await hasHash(join(folder, path), ours.get(path) ?? ''));
    if (isOurs) continue;
    const points = await readlink(join(folder, path)).catch(() => null);
    // A link that we, or an earlier rendering, created to one of our files.
    if (points !== null && (next.has(points) || folders.has(points))) continue;
    if (collides(path) || ours.has(path)) inTheWay.push(path);
    else await carryOver(folder, draft, path);
  }
  if (inTheWay.length === 0 || force) return;
  const more = inTheWay.length - MOST_NAMED;
  throw new ColdironError(
    'conflict',
    `${named} has files that were not rendered here or were changed since; use --force to replace them`,
    [...inTheWay.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])],
  );
}

async function hasHash(file: string, sha256: string): Promise<boolean> {
  return (await lstat(file)).isFile() && sha256Of(await readFile(file)) === sha256;
}

/** `a/b/c` is below `a` and `a/b`. */
const foldersAbove = (path: string): string[] => {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_part, at) => parts.slice(0, at + 1).join('/'));
};

async function carryOver(folder: string, draft: string, path: string): Promise<void> {
  for (const above of foldersAbove(path)) {
    const { mode } = await stat(join(folder, above));
    const isNew = (await mkdir(join(draft, above), { recursive: true })) !== undefined;
    if (isNew) await chmod(join(draft, above), mode & 0o7777);
  }
  const [from, to] = [join(folder, path), join(draft, path)];
  if ((await lstat(from)).isSymbolicLink()) await symlink(await readlink(from), to);
  else await link(from, to);
}
