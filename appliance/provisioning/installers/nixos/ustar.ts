// Archives for tar: POSIX.1-1988 "ustar", pax(1) "ustar Interchange Format". The same files make the same bytes: they are
// ordered by path, belong to root, and have no time.

import { ColdironError } from '../../../domain/errors.ts';
import { shown } from '../../../domain/parsed.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';

const BLOCK = 512;
const LONGEST_NAME = 100;
const LONGEST_PREFIX = 155;
const FILE = '0';
const FOLDER = '5';

export function ustarArchive(files: readonly RenderedFile[]): Buffer {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const members = new Map<string, Buffer>();
  const refuseTwin = (path: string): void => {
    if (members.has(path))
      throw new ColdironError('internal', `two files have the path ${shown(path.replace(/\/$/, ''))}`);
  };
  for (const { path, text, mode } of sorted) {
    for (const folder of foldersOf(path)) {
      refuseTwin(folder);
      if (members.has(`${folder}/`)) continue;
      members.set(`${folder}/`, header(`${folder}/`, folderMode(folder, sorted), 0, FOLDER));
    }
    refuseTwin(path);
    refuseTwin(`${path}/`);
    const bytes = Buffer.from(text, 'utf8');
    members.set(path, Buffer.concat([header(path, mode, bytes.length, FILE), padded(bytes)]));
  }
  // Two empty blocks end the archive.
  return Buffer.concat([...members.values(), Buffer.alloc(2 * BLOCK)]);
}

/** `a/b/c` is in `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const segments = path.split('/');
  if (segments.some((each) => each === '' || each === '.' || each === '..') || path.includes('\0')) {
    throw new ColdironError('internal', `not a path below the folder that is packed: ${shown(path)}`);
  }
  return segments.slice(1).map((_, at) => segments.slice(0, at + 1).join('/'));
}

/** A folder that holds only private files is private. */
export function folderMode(folder: string, files: readonly Pick<RenderedFile, 'path' | 'mode'>[]): number {
  const within = files.filter(({ path }) => path.startsWith(`${folder}/`));
  return within.every(({ path, mode }) => (mode & 0o077) === 0 && !path.slice(folder.length + 1).includes('/'))
    ? 0o700
    : 0o755;
}

function header(path: string, mode: number, size: number, kind: string): Buffer {
  const { name, prefix } = splitPath(path);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 'utf8');
  block.write(octal(mode, 8), 100, 'latin1');
  block.write(octal(0, 8), 108, 'latin1'); // uid
  block.write(octal(0, 8), 116, 'latin1'); // gid
  block.write(octal(size, 12), 124, 'latin1');
  block.write(octal(0, 12), 136, 'latin1'); // mtime
  block.write(' '.repeat(8), 148, 'latin1'); // chksum: counts as blanks in its own checksum
  block.write(kind, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  block.write('root', 265, 'latin1');
  block.write('root', 297, 'latin1');
  block.write(prefix, 345, 'utf8');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 7)} `, 148, 'latin1');
  return block;
}

/** A path that is too long for its field is split at a slash. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= LONGEST_NAME) return { name: path, prefix: '' };
  const slashes = [...path.matchAll(/\/(?=.)/g)].map(({ index }) => index);
  const at = slashes.find((slash) => Buffer.byteLength(path.slice(slash + 1)) <= LONGEST_NAME);
  if (at === undefined || Buffer.byteLength(path.slice(0, at)) > LONGEST_PREFIX) {
    throw new ColdironError('internal', `the path is too long for an archive: ${shown(path)}`);
  }
  return { name: path.slice(at + 1), prefix: path.slice(0, at) };
}

/** With the trailing NUL. */
const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
