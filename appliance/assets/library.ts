// The boot files that may be served, by name. Nothing is ever served by a path: a name that is not in here does not exist.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suggestion } from '../documents/nearest-name.ts';
import { type Asset, fileTypeOf, typeProblem } from './asset.ts';
import { assetFile, contentTypeOf, isDiskName, isLoaderName, parseAssetName, SITE_FOLDERS } from './asset-name.ts';
import { Checksums } from './checksums.ts';
import type { FileType } from './file-type.ts';
import { type ManifestEntry, readManifests } from './manifest.ts';

interface Contents {
  readonly assets: ReadonlyMap<string, Asset>;
  readonly problems: readonly string[];
}

export class AssetLibrary {
  readonly #folder: string;
  #contents: Contents = { assets: new Map(), problems: [] };
  /** Reloads go one after the other, so that an older look never replaces a newer one. */
  #turn: Promise<void> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** `folder`: <state>/assets; it need not exist yet. */
  static async open(folder: string): Promise<AssetLibrary> {
    const library = new AssetLibrary(folder);
    await library.reload();
    return library;
  }

  /** Looks at the folder and the manifests again. When that fails, what was served before is still served. */
  reload(): Promise<void> {
    const turn = this.#turn.then(async () => {
      this.#contents = await readContents(this.#folder);
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  find(name: string): Asset | null {
    return this.#contents.assets.get(name) ?? null;
  }

  list(): readonly Asset[] {
    return [...this.#contents.assets.values()];
  }

  /** Files that are there and are not served, each with its reason. */
  problems(): readonly string[] {
    return this.#contents.problems;
  }

  /** " (did you mean snponly.efi?)", or nothing. */
  suggestionFor(name: string): string {
    return suggestion(name, this.#contents.assets.keys());
  }
}

/** What a site adds to the manifest; null when it adds nothing. */
export async function extraManifest(folder: string): Promise<string | null> {
  const file = join(folder, 'extra.yaml');
  return (await isFile(file)) ? file : null;
}

async function readContents(folder: string): Promise<Contents> {
  const entries = await readManifests(await extraManifest(folder));
  const declared = new Map(entries.map((entry) => [entry.name, entry]));
  const names = [...declared.keys()].filter(isLoaderName);
  for (const place of SITE_FOLDERS) names.push(...(await namesBelow(folder, place, 1)));

  const checksums = await Checksums.open(folder);
  const assets = new Map<string, Asset>();
  const problems: string[] = [];
  for (const name of names) {
    const found = await readAsset(folder, name, declared.get(name), checksums);
    if (typeof found === 'string') problems.push(`${name}: ${found}`);
    else if (found !== null) assets.set(name, found);
  }
  if (assets.size > 0) {
    await checksums.save().catch((error: Error) => {
      problems.push(`index.json: ${error.message}; every start computes all checksums again`);
    });
  }
  return { assets, problems };
}

async function readAsset(
  folder: string,
  name: string,
  entry: ManifestEntry | undefined,
  checksums: Checksums,
): Promise<Asset | string | null> {
  const parsed = parseAssetName(name);
  if (!parsed.ok) return parsed.reason;
  const file = assetFile(folder, name);
  try {
    if (!(await isFile(file))) return null;
    const type: FileType = isDiskName(name) ? { kind: 'disk' } : await fileTypeOf(file);
    const problem = entry ? typeProblem(entry, type) : null;
    if (problem !== null) return problem;
    const architecture = 'cpu' in type ? type.cpu : (entry?.architecture ?? null);
    return {
      name,
      file,
      ...(await checksums.of(name, file)),
      kind: type.kind,
      architecture,
      contentType: contentTypeOf(name),
    };
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}

/** nixos/<profile>/bzImage, images/<image>/…; a link into the Nix store is as good as a file. */
const DEEPEST = 4;

async function namesBelow(folder: string, name: string, depth: number): Promise<string[]> {
  const children = await readdir(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  const names: string[] = [];
  // Hidden files are not meant for machines: editors and unfinished downloads make them.
  for (const child of children.filter((text) => !text.startsWith('.')).sort()) {
    const below = `${name}/${child}`;
    if (await isFile(join(folder, below))) names.push(below);
    else if (depth < DEEPEST) names.push(...(await namesBelow(folder, below, depth + 1)));
  }
  return names;
}

async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // ELOOP: links in a circle lead to no file.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return false;
    throw error;
  }
}
