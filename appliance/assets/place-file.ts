// Puts a verified file into the library: atomically, readable by the process that serves it, and with a record of its
// source.

import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { draftOf, readRegularFile, replaceFile } from '../files/whole-files.ts';
import { fileTypeOf, typeProblem } from './asset.ts';
import { assetFile } from './asset-name.ts';
import { sha256OfFile } from './checksums.ts';
import type { ManifestEntry } from './manifest.ts';
import { builtBytesOf, sha256AsBuilt } from './service-os/authority.ts';

/** By name: the file that was placed, without the authorities that an appliance appends to it, and its source (`Debian ipxe 1.0.0…`, a URL). */
export type Origins = Readonly<
  Record<
    string,
    {
      readonly sha256: string;
      readonly from: string;
      readonly version?: string;
      readonly bytes?: number;
      /** While the file is being placed: the checksum of the one that is still there. */
      readonly replaces?: string;
    }
  >
>;

/** The source of a file. `version`: of its Debian package. */
interface FileSource {
  readonly title: string;
  readonly version?: string;
}

export interface Placed {
  readonly name: string;
  readonly sha256: string;
  readonly from: string;
  /** The library already had the same bytes. */
  readonly unchanged: boolean;
  /** Whether the manifest lists this version of the Debian package. If so, the file has the listed checksum. */
  readonly listed?: boolean;
}

/** `service_unavailable` when the file does not match its entry; the library is then unchanged. */
export async function placeFile(
  folder: string,
  entry: ManifestEntry,
  { title: from, version }: FileSource,
  bytes: string,
): Promise<Placed> {
  const problem = typeProblem(entry, await fileTypeOf(bytes));
  if (problem !== null) throw new ColdironError('service_unavailable', `${entry.name} from ${from}: ${problem}`);
  const target = assetFile(folder, entry.name);
  await makeFolders(folder, dirname(target));
  const temporary = draftOf(target);
  try {
    await copyFile(bytes, temporary, constants.COPYFILE_EXCL);
    await chmod(temporary, 0o644);
    const sha256 = await sha256AsBuilt(entry.name, temporary);
    const declared = declaredSum(entry, version);
    if (declared !== null && declared !== (await sha256OfFile(temporary))) {
      throw new ColdironError(
        'service_unavailable',
        `${entry.name} from ${from}: sha256 is ${sha256}, but ${declared} is declared`,
      );
    }
    const before = await sha256AsBuilt(entry.name, target).catch(() => null);
    const size = (await builtBytesOf(entry.name, temporary)) ?? (await stat(temporary)).size;
    const origin = { sha256, from, bytes: size, ...(version !== undefined && { version }) };
    // An unchanged file is not replaced: its modification time tells how long it has been there.
    if (before !== sha256) {
      // A running appliance compares file and record at any moment: both the old and the new file match this one.
      await noteOrigin(folder, entry.name, { ...origin, ...(before !== null && { replaces: before }) });
      await rename(temporary, target);
    }
    await noteOrigin(folder, entry.name, origin);
    return {
      name: entry.name,
      sha256,
      from,
      unchanged: before === sha256,
      ...(version !== undefined && { listed: declared !== null }),
    };
  } finally {
    await rm(temporary, { force: true });
  }
}

/** null: no checksum is declared for this file. */
function declaredSum({ source }: ManifestEntry, version: string | undefined): string | null {
  if (source.kind === 'url') return source.sha256;
  return (version !== undefined && source.sums?.get(version)) || null;
}

/** Modes do not depend on the umask; existing folders keep theirs. */
export async function makeFolders(folder: string, target: string): Promise<void> {
  const first = await mkdir(target, { recursive: true });
  if (first === undefined) return;
  for (let made = target; !relative(first, made).startsWith('..'); made = dirname(made)) {
    // Above the library is the state folder, which only its owner may read.
    await chmod(made, relative(folder, made).startsWith('..') ? 0o700 : 0o755);
  }
}

const MOST_ORIGIN_BYTES = 16 * 1024 * 1024;

const originsFile = (folder: string): string => join(folder, 'origins.json');

export async function readOrigins(folder: string): Promise<Origins> {
  const text = await readRegularFile(originsFile(folder), MOST_ORIGIN_BYTES);
  try {
    return JSON.parse(text?.toString('utf8') ?? '{}');
  } catch {
    throw new ColdironError('service_unavailable', `${originsFile(folder)} is damaged: remove it and build again`);
  }
}

async function noteOrigin(folder: string, name: string, origin: Origins[string]): Promise<void> {
  const origins = { ...(await readOrigins(folder)), [name]: origin };
  await replaceFile(originsFile(folder), `${JSON.stringify(origins, null, 1)}\n`, 0o644);
}
