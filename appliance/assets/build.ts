// `coldiron assets build`: the loaders of the manifest, from Debian's packages.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import {
  fileInTree,
  installedPackage,
  type PackageDownloads,
  type PackageTree,
  type PackageWanted,
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

/** One that cannot be had does not keep the others from being built. */
export async function buildAssets(
  folder: string,
  entries: readonly ManifestEntry[],
  say: (line: string) => void,
): Promise<Gathered> {
  const placed: Placed[] = [];
  const failed: Gathered['failed'][number][] = [];
  const wanted = entries.filter(isDebian);
  const scratch = await mkdtemp(join(tmpdir(), 'coldiron-assets-'));
  try {
    const trees = packageTrees(scratch, wanted, say);
    for (const entry of wanted) {
      try {
        const tree = await trees(entry.source);
        const done = await placeFile(folder, entry, tree, await fileInTree(tree, entry.source.path));
        say(`${entry.name}: ${done.unchanged ? 'unchanged' : 'built'}, from ${tree.title}`);
        // A security update of shim or GRUB must not keep anybody from a fresh install.
        if (!done.listed) say(`${entry.name}: the manifest does not list this version; taken as apt vouches for it`);
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

/** Each package is looked for once; the lists are read only if one has to be downloaded. */
function packageTrees(
  scratch: string,
  entries: readonly DebianEntry[],
  say: (line: string) => void,
): (wanted: PackageWanted) => Promise<PackageTree> {
  const foreign = [...new Set(entries.flatMap(({ source }) => source.architecture ?? []))];
  const trees = new Map<string, Promise<PackageTree>>();
  let downloads: Promise<PackageDownloads> | null = null;
  const obtain = async (wanted: PackageWanted): Promise<PackageTree> => {
    const installed = await installedPackage(wanted);
    if (installed) return installed;
    downloads ??= prepareDownloads(scratch, foreign, say);
    return (await downloads).unpacked(wanted);
  };
  return (wanted) => {
    const key = `${wanted.package}:${wanted.architecture}`;
    const known = trees.get(key) ?? obtain(wanted);
    trees.set(key, known);
    return known;
  };
}
