// The boot files that may be served, by name. Nothing is served by path: a name that is not listed here does not exist.

import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suggestion } from '../documents/nearest-name.ts';
import { isTrusted } from '../files/other-users.ts';
import { type Asset, fileTypeOf, headOf, typeProblem } from './asset.ts';
import { assetFile, contentTypeOf, isDiskName, isLoaderName, parseAssetName, SITE_FOLDERS } from './asset-name.ts';
import { Checksums } from './checksums.ts';
import { damageOf } from './file-damage.ts';
import type { FileType } from './file-type.ts';
import { type ManifestEntry, readManifests } from './manifest.ts';
import { type Origins, readOrigins } from './place-file.ts';
import { builtBytesOf } from './service-os/authority.ts';
import { zstdContentBytes } from './zstd-size.ts';

interface Contents {
  readonly assets: ReadonlyMap<string, Asset>;
  readonly problems: readonly string[];
  readonly unusable: readonly UnusableFile[];
}

/** A file that exists and is not served. */
export interface UnusableFile {
  readonly name: string;
  /** A predicate of the file. */
  readonly reason: string;
}

export class AssetLibrary {
  readonly #folder: string;
  #contents: Contents = { assets: new Map(), problems: [], unusable: [] };
  /** Serializes reloads, so that an older scan never replaces a newer one. */
  #reloading: Promise<void> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** `folder`: <state>/assets; it need not exist yet. */
  static async open(folder: string): Promise<AssetLibrary> {
    const library = new AssetLibrary(folder);
    await library.reload();
    return library;
  }

  /** Scans the folder and the manifests again. If that fails, the previous contents stay in use. */
  reload(): Promise<void> {
    const reload = this.#reloading.then(async () => {
      this.#contents = await readContents(this.#folder);
    });
    this.#reloading = reload.catch(() => undefined);
    return reload;
  }

  find(name: string): Asset | null {
    return this.#contents.assets.get(name) ?? null;
  }

  list(): readonly Asset[] {
    return [...this.#contents.assets.values()];
  }

  /** Files that exist but are not served, each with the reason. */
  problems(): readonly string[] {
    return this.#contents.problems;
  }

  /** The same files, without problems of the library itself. */
  unusable(): readonly UnusableFile[] {
    return this.#contents.unusable;
  }

  /** " (did you mean snponly.efi?)", or an empty string. */
  suggestionFor(name: string): string {
    return suggestion(name, this.#contents.assets.keys());
  }
}

/** The site's own manifest; null when there is none. */
export async function extraManifest(folder: string): Promise<string | null> {
  const file = join(folder, 'extra.yaml');
  return (await isFile(file)) ? file : null;
}

/** A file may be placed during the scan, after its record was read: then the scan is repeated. */
const SCANS = 3;

async function readContents(folder: string): Promise<Contents> {
  for (let scan = 1; ; scan += 1) {
    const before = await originsOf(folder);
    const contents = await scanned(folder, before);
    const isDamaged = [...contents.assets.values()].some(({ damage }) => damage !== undefined);
    if (scan === SCANS || !isDamaged) return contents;
    if (JSON.stringify(await originsOf(folder)) === JSON.stringify(before)) return contents;
  }
}

/** A string: why they cannot be read. */
const originsOf = (folder: string): Promise<Origins | string> =>
  readOrigins(folder).catch((error: Error) => error.message);

async function scanned(folder: string, origins: Origins | string): Promise<Contents> {
  const entries = await readManifests(await extraManifest(folder));
  const declared = new Map(entries.map((entry) => [entry.name, entry]));
  const names = [...declared.keys()].filter(isLoaderName);
  for (const place of SITE_FOLDERS) names.push(...(await namesBelow(folder, place, 1)));

  const checksums = await Checksums.open(folder);
  const assets = new Map<string, Asset>();
  const unusable: UnusableFile[] = [];
  for (const name of names) {
    const origin = typeof origins === 'string' ? undefined : origins[name];
    const found = await readAsset(folder, { name, entry: declared.get(name), origin }, checksums);
    if (typeof found === 'string') unusable.push({ name, reason: found });
    else if (found !== null) assets.set(name, found);
  }
  const problems = unusable.map(({ name, reason }) => `${name}: ${reason}`);
  if (typeof origins === 'string') problems.push(origins);
  if (assets.size > 0) {
    await checksums.save().catch((error: Error) => {
      problems.push(`index.json: ${error.message}; all checksums are computed again at every start`);
    });
  }
  return { assets, problems, unusable };
}

interface KnownFile {
  readonly name: string;
  readonly entry: ManifestEntry | undefined;
  readonly origin: Origins[string] | undefined;
}

async function readAsset(
  folder: string,
  { name, entry, origin }: KnownFile,
  checksums: Checksums,
): Promise<Asset | string | null> {
  const parsed = parseAssetName(name);
  if (!parsed.ok) return parsed.reason;
  const file = assetFile(folder, name);
  try {
    if (await isForeignLink(file)) return 'it is a link of another user, which is not followed';
    if (!(await isFile(file))) return null;
    const type: FileType = isDiskName(name) ? { kind: 'disk' } : await fileTypeOf(file);
    const problem = entry ? typeProblem(entry, type) : null;
    if (problem !== null) return problem;
    const architecture = 'cpu' in type ? type.cpu : (entry?.architecture ?? null);
    const unpackedBytes = type.kind === 'disk' ? zstdContentBytes(await headOf(file)) : null;
    const { size, sha256 } = await checksums.of(name, file);
    const builtBytes = await builtBytesOf(name, file);
    const built =
      builtBytes === null || builtBytes >= size ? sha256 : await checksums.ofBeginning(name, file, builtBytes);
    const sums = { whole: sha256, built, builtBytes: builtBytes ?? size };
    const damage = damageOf({ source: entry?.source, origin }, sums);
    return {
      ...{ name, file, size, sha256, architecture },
      kind: type.kind,
      contentType: contentTypeOf(name),
      ...(unpackedBytes !== null && { unpackedBytes }),
      ...(damage !== null && { damage }),
    };
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}

/** nixos/<profile>/bzImage, images/<image>/…; links into the Nix store are followed, if root or this user made them. */
const MAX_DEPTH = 4;

async function namesBelow(folder: string, name: string, depth: number): Promise<string[]> {
  const children = await readdir(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  const names: string[] = [];
  // Hidden files are not for machines: editors and unfinished downloads create them.
  for (const child of children.filter((text) => !text.startsWith('.')).sort()) {
    const below = `${name}/${child}`;
    if ((await isForeignLink(join(folder, below))) || (await isFile(join(folder, below)))) names.push(below);
    else if (depth < MAX_DEPTH) names.push(...(await namesBelow(folder, below, depth + 1)));
  }
  return names;
}

async function isForeignLink(path: string): Promise<boolean> {
  const made = await lstat(path).catch(() => null);
  return made?.isSymbolicLink() === true && !isTrusted(made.uid);
}

async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // ELOOP: a circle of symbolic links.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return false;
    throw error;
  }
}
