// Whether a boot file is still the file that was placed: by the checksum of the whole file, against the manifest and the record of its
// source. A file without either may be anything.

import type { AssetSource } from './manifest.ts';
import type { Origins } from './place-file.ts';

export interface FileSums {
  /** Of the whole file. */
  readonly whole: string;
  /** Without the authorities that an appliance appends to an initrd; otherwise the same. */
  readonly built: string;
  /** The size that belongs to `built`. */
  readonly builtBytes: number;
}

export interface FileReference {
  readonly source: AssetSource | undefined;
  readonly origin: Origins[string] | undefined;
}

export interface FileDamage {
  /** A predicate of the file. */
  readonly words: string;
  /** The verb of `coldiron assets` that restores it. */
  readonly restore: 'build' | 'fetch';
}

/** Null: the file is sound, or nothing is known about it. */
export function damageOf({ source, origin }: FileReference, sums: FileSums): FileDamage | null {
  const { whole, built, builtBytes } = sums;
  if (source?.kind === 'url' && source.sha256 !== built)
    return { words: `does not match the declared checksum (sha256 ${whole})`, restore: 'fetch' };
  if (isOtherThanListed({ source, origin }, whole)) {
    const words = `does not match the checksum that the manifest lists for ${origin?.from} (sha256 ${whole})`;
    return { words, restore: 'build' };
  }
  if (!origin || origin.sha256 === built || origin.replaces === built) return null;
  const { bytes = builtBytes } = origin;
  const size = bytes === builtBytes ? '' : ` (it has ${builtBytes} of ${bytes} bytes)`;
  return { words: `has changed since it was taken from ${origin.from}${size}`, restore: 'build' };
}

const RESTORED_BY = { build: 'coldiron assets build', fetch: 'coldiron assets fetch' } as const;

export const damageInWords = ({ words, restore }: FileDamage): string => `${words}: run ${RESTORED_BY[restore]}`;

/** The file was placed before its checksum was listed, and does not match it. */
function isOtherThanListed({ source, origin }: FileReference, whole: string): boolean {
  if (source?.kind !== 'debian' || origin?.sha256 !== whole) return false;
  const listed = origin.version === undefined ? undefined : source.sums?.get(origin.version);
  return listed !== undefined && listed !== whole;
}
