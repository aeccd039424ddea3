// `coldiron assets verify`: every byte is read again, whatever index.json says.

import { type BootContract, checkBootContract } from './boot-contract.ts';
import { sha256OfFile } from './checksums.ts';
import type { AssetLibrary } from './library.ts';
import type { ManifestEntry } from './manifest.ts';
import { readOrigins } from './place-file.ts';

export interface Verified {
  readonly sound: number;
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
  let sound = 0;
  for (const { name, file, sha256 } of library.list()) {
    const now = await sha256OfFile(file);
    const source = declared.get(name);
    const origin = origins[name];
    if (source?.kind === 'url' && source.sha256 !== now) {
      problems.push(`${name}: is not the file that is declared (sha256 ${now}): coldiron assets fetch`);
    } else if (origin && origin.sha256 !== now) {
      problems.push(`${name}: has changed since it came from ${origin.from}: coldiron assets build puts it back`);
    } else if (sha256 !== now) {
      problems.push(`${name}: its bytes have changed, its size and time have not: the disk may be failing`);
    } else sound += 1;
  }
  const contract = checkBootContract((name) => library.find(name));
  return { sound, problems: [...problems, ...contract.problems], missing: contract.missing };
}
