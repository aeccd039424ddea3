// Puts a checked file into the library: whole or not at all, readable for whoever serves it, and with a note of where it
// came from.

import { chmod, copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { fileTypeOf, typeProblem } from './asset.ts';
import { assetFile } from './asset-name.ts';
import { sha256OfFile } from './checksums.ts';
import type { ManifestEntry } from './manifest.ts';

/** By name: what was put there and where it came from (`Debian ipxe 1.0.0…`, a URL). */
export type Origins = Readonly<
  Record<string, { readonly sha256: string; readonly from: string; readonly version?: string }>
>;

/** Where a file is taken from. `version`: of its Debian package. */
interface TakenFrom {
  readonly title: string;
  readonly version?: string;
}

export interface Placed {
  readonly name: string;
  readonly sha256: string;
  readonly from: string;
  /** The same bytes were there already. */
  readonly unchanged: boolean;
  /** Whether the manifest lists this version of the Debian package; it then has the sum that is listed. */
  readonly listed?: boolean;
}

/** `service_unavailable` when the bytes are not what the entry promises; then nothing has changed. */
export async function placeFile(
  folder: string,
  entry: ManifestEntry,
  { title: from, version }: TakenFrom,
  bytes: string,
): Promise<Placed> {
  const problem = typeProblem(entry, await fileTypeOf(bytes));
  if (problem !== null) throw new ColdironError('service_unavailable', `${entry.name} from ${from}: ${problem}`);
  const target = assetFile(folder, entry.name);
  await makeFolders(folder, dirname(target));
  const hidden = join(dirname(target), `.${basename(target)}.new`);
  try {
    await copyFile(bytes, hidden);
    await chmod(hidden, 0o644);
    const sha256 = await sha256OfFile(hidden);
    const declared = declaredSum(entry, version);
    if (declared !== null && declared !== sha256) {
      throw new ColdironError(
        'service_unavailable',
        `${entry.name} from ${from}: sha256 is ${sha256}, not as declared (${declared})`,
      );
    }
    const before = await sha256OfFile(target).catch(() => null);
    // Left in place: its modification time says how long it has been what it is.
    if (before !== sha256) await rename(hidden, target);
    await noteOrigin(folder, entry.name, { sha256, from, ...(version !== undefined && { version }) });
    return {
      name: entry.name,
      sha256,
      from,
      unchanged: before === sha256,
      ...(version !== undefined && { listed: declared !== null }),
    };
  } finally {
    await rm(hidden, { force: true });
  }
}

/** null: for this one nobody has written a sum down. */
function declaredSum({ source }: ManifestEntry, version: string | undefined): string | null {
  if (source.kind === 'url') return source.sha256;
  return (version !== undefined && source.sums?.get(version)) || null;
}

/** Whatever the umask; folders that were there keep the mode they have. */
export async function makeFolders(folder: string, target: string): Promise<void> {
  const first = await mkdir(target, { recursive: true });
  if (first === undefined) return;
  for (let made = target; !relative(first, made).startsWith('..'); made = dirname(made)) {
    // Above the library's own folder is the state folder, which is nobody else's business.
    await chmod(made, relative(folder, made).startsWith('..') ? 0o700 : 0o755);
  }
}

const originsFile = (folder: string): string => join(folder, 'origins.json');

export async function readOrigins(folder: string): Promise<Origins> {
  const text = await readFile(originsFile(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  try {
    return JSON.parse(text);
  } catch {
    throw new ColdironError('service_unavailable', `${originsFile(folder)} is damaged: remove it and build again`);
  }
}

async function noteOrigin(folder: string, name: string, origin: Origins[string]): Promise<void> {
  const origins = { ...(await readOrigins(folder)), [name]: origin };
  const file = originsFile(folder);
  await writeFile(`${file}.new`, `${JSON.stringify(origins, null, 1)}\n`, { mode: 0o644 });
  await rename(`${file}.new`, file);
}
