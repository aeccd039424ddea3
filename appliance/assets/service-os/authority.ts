// The authorities that the service OS trusts: the last part of its initrd, an uncompressed cpio archive that each appliance appends to the
// initrd in its own library. The kernel unpacks any number of archives, one after the other, if each starts at a multiple of four. The part
// ends with a file that tells where it starts, so that it can be replaced.

import { constants } from 'node:fs';
import { chmod, copyFile, open, rename, rm, stat, truncate } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { assetFile } from '../asset-name.ts';
import { sha256OfFile } from '../checksums.ts';
import { cpioArchive } from '../cpio.ts';
import { SERVICE_OS_NAMES } from './recipe.ts';

/** An initrd that was built, and what was appended to it; `part` is empty when nothing was. */
interface Initrd {
  readonly builtBytes: number;
  readonly part: Buffer;
}

const AUTHORITY_PATH = 'service-os/authority.pem';
const MARKER_PATH = 'service-os/authority-part';
const MARKER = /coldiron authority part after (\d{12}) bytes\n/g;
/** The marker and the end of the archive. */
const TAIL_BYTES = 1024;
const INITRDS: readonly string[] = SERVICE_OS_NAMES.map((image) => `${image}/initrd`);
/** Several authorities of a few kilobytes each, during a rotation. */
const MAX_PART_BYTES = 256 * 1024;

/** What is appended to an initrd of `builtBytes`. */
export function authorityPart(builtBytes: number, pem: string): Buffer {
  const padding = Buffer.alloc((4 - (builtBytes % 4)) % 4);
  const marker = `coldiron authority part after ${String(builtBytes).padStart(12, '0')} bytes\n`;
  const archive = cpioArchive([
    { path: AUTHORITY_PATH, kind: 'file', bytes: Buffer.from(pem, 'utf8'), executable: false },
    { path: MARKER_PATH, kind: 'file', bytes: Buffer.from(marker, 'utf8'), executable: false },
  ]);
  return Buffer.concat([padding, archive]);
}

/** The authorities in an initrd; null: none. */
export async function authorityIn(file: string): Promise<string | null> {
  const { part } = await readInitrd(file);
  return part.length === 0 ? null : pemIn(part);
}

/** The size of an initrd of the service OS without the authorities that an appliance appended; null: it is another file. */
export const builtBytesOf = async (name: string, file: string): Promise<number | null> =>
  INITRDS.includes(name) ? (await readInitrd(file)).builtBytes : null;

/** The checksum of a file of the library as it was built: without the authorities that an appliance appended. */
export async function sha256AsBuilt(name: string, file: string): Promise<string> {
  if (!INITRDS.includes(name)) return sha256OfFile(file);
  const { builtBytes } = await readInitrd(file);
  return sha256OfFile(file, builtBytes);
}

/**
 * Sets the authorities in the service OS initrds of the library; null removes them. Returns the names of the files that were changed: those
 * that already have them are left alone.
 */
export async function placeAuthority(folder: string, pem: string | null): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const name of INITRDS) {
    if (await setAuthority(assetFile(folder, name), pem)) changed.push(name);
  }
  return changed;
}

/** Another process may place a newly built file at any time; then the work starts over. */
const ATTEMPTS = 5;

/** True: the file was replaced. A file that does not exist is left out. */
export async function setAuthority(file: string, pem: string | null): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const stamp = await stampOf(file);
    if (stamp === null) return false;
    const { builtBytes, part } = await readInitrd(file);
    const wanted = pem === null ? Buffer.alloc(0) : authorityPart(builtBytes, pem);
    if (part.equals(wanted)) return false;
    if (await replace(file, builtBytes, wanted, stamp)) return true;
  }
  throw new ColdironError('conflict', `${file} is being changed by another program`);
}

/** Atomically: whoever reads the file gets all of the old or all of the new one. False: the file is another one than `stamp`. */
async function replace(file: string, builtBytes: number, part: Buffer, stamp: string): Promise<boolean> {
  // A hidden file: the library does not serve it.
  const temporary = join(dirname(file), `.${basename(file)}.authority`);
  try {
    await copyFile(file, temporary, constants.COPYFILE_FICLONE);
    await chmod(temporary, 0o644);
    await truncate(temporary, builtBytes);
    await using handle = await open(temporary, 'a');
    await handle.write(part);
    await handle.sync();
    if ((await stampOf(file)) !== stamp) return false;
    await rename(temporary, file);
    return true;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** A part counts only if its bytes are exactly those that we write: anything else belongs to the file. */
async function readInitrd(file: string): Promise<Initrd> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const whole: Initrd = { builtBytes: size, part: Buffer.alloc(0) };
  const tail = await bytesAt(handle, Math.max(0, size - TAIL_BYTES), size);
  const builtBytes = Number([...tail.toString('latin1').matchAll(MARKER)].at(-1)?.[1] ?? size);
  if (builtBytes >= size || size - builtBytes > MAX_PART_BYTES) return whole;
  const part = await bytesAt(handle, builtBytes, size);
  const pem = pemIn(part);
  return pem !== null && part.equals(authorityPart(builtBytes, pem)) ? { builtBytes, part } : whole;
}

function pemIn(part: Buffer): string | null {
  const start = part.indexOf('-----BEGIN CERTIFICATE-----');
  const end = '-----END CERTIFICATE-----\n';
  const last = part.lastIndexOf(end);
  return start === -1 || last < start ? null : part.toString('utf8', start, last + end.length);
}

async function bytesAt(handle: Awaited<ReturnType<typeof open>>, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}

/** null: there is no such file. */
async function stampOf(file: string): Promise<string | null> {
  const found = await stat(file, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  return found && `${found.size}:${found.mtimeNs}:${found.ino}`;
}
