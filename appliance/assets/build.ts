// `coldiron assets build`: builds the loaders of the manifest from Debian packages.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import {
  fileInTree,
  installedPackage,
  type PackageDownloads,
  type PackageRequest,
  type PackageTree,
  prepareDownloads,
} from './debian-packages.ts';
import type { AssetSource, ManifestEntry } from './manifest.ts';
import { type Placed, placeFile } from './place-file.ts';

export interface Gathered {
  readonly placed: readonly Placed[];
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
}

type DebianEntry = ManifestEntry & { readonly source: Extract<AssetSource, { kind: 'debian' }> };
const isDebian = (entry: ManifestEntry): entry is DebianEntry => entry.source.kind === 'debian';

/** A failure of one entry does not stop the others. */
export async function buildAssets(
  folder: string,
  entries: readonly ManifestEntry[],
  say: (line: string) => void,
): Promise<Gathered> {
  const placed: Placed[] = [];
  const failed: Gathered['failed'][number][] = [];
  const requested = entries.filter(isDebian);
  const scratch = await mkdtemp(join(tmpdir(), 'coldiron-assets-'));
  try {
    const trees = packageTrees(scratch, requested, say);
    for (const entry of requested) {
      try {
        const tree = await trees(entry.source);
        const done = await placeFile(folder, entry, tree, await fileInTree(tree, entry.source.path));
        say(`${entry.name}: ${done.unchanged ? 'unchanged' : 'built'}, from ${tree.title}`);
        // A security update of shim or GRUB must not block a fresh install.
        if (!done.listed) say(`${entry.name}: the manifest does not list this version; apt verified its package`);
        placed.push(done);
      } catch (error) {
        if (!(error instanceof ColdironError)) throw error;
        say(`${entry.name}: cannot be built: ${error.message}`);
        failed.push({ name: entry.name, reason: error.message });
      }
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return { placed, failed };
}

/** Resolves each package once. The package lists are read only if a package must be downloaded. */
function packageTrees(
  scratch: string,
  entries: readonly DebianEntry[],
  say: (line: string) => void,
): (requested: PackageRequest) => Promise<PackageTree> {
  const foreign = [...new Set(entries.flatMap(({ source }) => source.architecture ?? []))];
  const trees = new Map<string, Promise<PackageTree>>();
  let downloads: Promise<PackageDownloads> | null = null;
  const obtain = async (requested: PackageRequest): Promise<PackageTree> => {
    const installed = await installedPackage(requested);
    if (installed) return installed;
    downloads ??= prepareDownloads(scratch, foreign, say);
    return (await downloads).unpacked(requested);
  };
  return (requested) => {
    const key = `${requested.package}:${requested.architecture}`;
    const known = trees.get(key) ?? obtain(requested);
    trees.set(key, known);
    return known;
  };
}
