// `coldiron assets verify`: hashes every file again, regardless of index.json.

import { stat } from 'node:fs/promises';
import { type BootContract, checkBootContract } from './boot-contract.ts';
import { sha256OfFile } from './checksums.ts';
import { damageInWords, damageOf } from './file-damage.ts';
import type { AssetLibrary } from './library.ts';
import type { AssetSource, ManifestEntry } from './manifest.ts';
import { type Origins, readOrigins } from './place-file.ts';
import { builtBytesOf, sha256AsBuilt } from './service-os/authority.ts';

type DebianSource = Extract<AssetSource, { kind: 'debian' }>;

/** How the content of a file out of a Debian package is verified. */
export interface VerifiedLoader {
  readonly name: string;
  /** `listed`: the manifest lists its checksum. `unlisted`: from a package version that the manifest does not list. `unknown`: neither. */
  readonly by: 'listed' | 'unlisted' | 'unknown';
  /** Its source; null: none was recorded. */
  readonly from: string | null;
}

export interface Verified {
  readonly sound: number;
  readonly loaders: readonly VerifiedLoader[];
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
  const loaders: VerifiedLoader[] = [];
  let sound = 0;
  for (const { name, file, sha256 } of library.list()) {
    const now = await sha256OfFile(file);
    const builtBytes = (await builtBytesOf(name, file)) ?? (await stat(file)).size;
    const built = await sha256AsBuilt(name, file);
    const source = declared.get(name);
    const origin = origins[name];
    const damage = damageOf({ source, origin }, { whole: now, built, builtBytes });
    if (damage !== null) problems.push(`${name}: ${damageInWords(damage)}`);
    else if (sha256 !== now) {
      problems.push(
        `${name}: its content has changed while its size and modification time have not: the disk may be failing`,
      );
    } else {
      sound += 1;
      if (source?.kind === 'debian')
        loaders.push({ name, by: verifiedBy(source, origin, now), from: origin?.from ?? null });
    }
  }
  const contract = checkBootContract((name) => library.find(name));
  return { sound, loaders, problems: [...problems, ...contract.problems], missing: contract.missing };
}

type FileOrigin = Origins[string] | undefined;

/** Decided by the checksum, not by what was recorded when the file was placed: the list may have grown since. */
function verifiedBy({ sums }: DebianSource, origin: FileOrigin, now: string): VerifiedLoader['by'] {
  if ([...(sums?.values() ?? [])].includes(now)) return 'listed';
  return origin === undefined ? 'unknown' : 'unlisted';
}
