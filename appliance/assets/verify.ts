// `coldiron assets verify`: every byte is read again, whatever index.json says.

import { type BootContract, checkBootContract } from './boot-contract.ts';
import { sha256OfFile } from './checksums.ts';
import type { AssetLibrary } from './library.ts';
import type { AssetSource, ManifestEntry } from './manifest.ts';
import { type Origins, readOrigins } from './place-file.ts';

type DebianSource = Extract<AssetSource, { kind: 'debian' }>;

/** How we know a file out of a Debian package. */
export interface Vouched {
  readonly name: string;
  /** `listed`: the manifest lists its sum. `unlisted`: apt brought a version that the manifest does not list. `unknown`: neither. */
  readonly by: 'listed' | 'unlisted' | 'unknown';
  /** Where it came from; null: nobody noted it. */
  readonly from: string | null;
}

export interface Verified {
  readonly sound: number;
  readonly loaders: readonly Vouched[];
  readonly problems: readonly string[];
  readonly missing: BootContract['missing'];
}

export async function verifyAssets(
  folder: string,
  entries: readonly ManifestEntry[],
  library: AssetLibrary,
): Promise<Verified> {
  const origins = await readOrigins(folder);
  const declared = new Map(entries.map((entry) => [entry.name, entry.source]));
  const problems = [...library.problems()];
  const loaders: Vouched[] = [];
  let sound = 0;
  for (const { name, file, sha256 } of library.list()) {
    const now = await sha256OfFile(file);
    const source = declared.get(name);
    const origin = origins[name];
    if (source?.kind === 'url' && source.sha256 !== now) {
      problems.push(`${name}: is not the file that is declared (sha256 ${now}): coldiron assets fetch`);
    } else if (isOtherThanListed(source, origin, now)) {
      problems.push(
        `${name}: is not what the manifest lists for ${origin?.from} (sha256 ${now}): coldiron assets build`,
      );
    } else if (origin && origin.sha256 !== now) {
      problems.push(`${name}: has changed since it came from ${origin.from}: coldiron assets build puts it back`);
    } else if (sha256 !== now) {
      problems.push(`${name}: its bytes have changed, its size and time have not: the disk may be failing`);
    } else {
      sound += 1;
      if (source?.kind === 'debian')
        loaders.push({ name, by: voucherOf(source, origin, now), from: origin?.from ?? null });
    }
  }
  const contract = checkBootContract((name) => library.find(name));
  return { sound, loaders, problems: [...problems, ...contract.problems], missing: contract.missing };
}

type Origin = Origins[string] | undefined;

/** It was taken before its sum was listed, and is not the one that was meant. */
function isOtherThanListed(source: AssetSource | undefined, origin: Origin, now: string): boolean {
  if (source?.kind !== 'debian' || origin?.sha256 !== now) return false;
  const listed = origin.version === undefined ? undefined : source.sums?.get(origin.version);
  return listed !== undefined && listed !== now;
}

/** By its sum, whatever was noted when it came: the list may have grown since. */
function voucherOf({ sums }: DebianSource, origin: Origin, now: string): Vouched['by'] {
  if ([...(sums?.values() ?? [])].includes(now)) return 'listed';
  return origin === undefined ? 'unknown' : 'unlisted';
}
