// Checks that every advertised file is served: each loader, kernel and initrd that a boot rule can name is in the library and
// fits that kind of machine. Missing files are not advertised; files of the wrong type are problems.

import { loaderFor } from '../boot/loaders.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../domain/architecture.ts';
import { type AdvertisedImage, advertisedImages, type InstalledProfile } from './advertised-images.ts';
import { type Asset, assetInWords } from './asset.ts';

export interface BootContract {
  /** Machines would be sent a file that they cannot start. */
  readonly problems: readonly string[];
  /** Missing files, the component each belongs to, and the architectures that cannot boot without it. */
  readonly missing: readonly MissingFile[];
}

interface UnfitFile {
  readonly file: string;
  /** A predicate of the file. */
  readonly words: string;
  readonly what: string;
  readonly architectures: readonly string[];
}

export interface MissingFile {
  readonly file: string;
  /** `loader`, `service OS`, `installer of worker`. */
  readonly what: string;
  readonly architectures: readonly string[];
}

type Find = (name: string) => Asset | null;

/** `profiles`: the profiles that machines may be installed with. The service OS needs no profile. */
export function checkBootContract(find: Find, profiles: Iterable<InstalledProfile> = []): BootContract {
  const { unfit, missing } = checkAdvertised(find, profiles);
  return { problems: unfit.map(({ file, words }) => `${file} ${words}`), missing };
}

export interface AdvertisedFiles {
  /** Files that machines would be sent to and cannot start. */
  readonly unfit: readonly UnfitFile[];
  readonly missing: readonly MissingFile[];
}

/** The same check with the file of each problem. */
export function checkAdvertised(find: Find, profiles: Iterable<InstalledProfile>): AdvertisedFiles {
  const checks = [
    checkLoaders(find),
    ...advertisedImages(profiles, isIn(find)).map((image) => checkImage(image, find)),
  ];
  return { unfit: checks.flatMap(({ unfit }) => unfit), missing: checks.flatMap(({ missing }) => missing) };
}

const isIn =
  (find: Find) =>
  (name: string): boolean =>
    find(name) !== null;

function checkLoaders(find: Find): AdvertisedFiles {
  const available = isIn(find);
  const unfit = new Map<string, UnfitFile>();
  const missing = new Map<string, Set<string>>();
  for (const architecture of CLIENT_ARCHITECTURES.values()) {
    for (const efiLoader of ['ipxe', 'snponly'] as const) {
      for (const secureBoot of [false, true]) {
        const choice = loaderFor(architecture, { efiLoader, secureBoot });
        if (choice.kind === 'none') continue;
        for (const file of choice.next === null ? [choice.file] : [choice.file, choice.next]) {
          const asset = find(file);
          if (asset === null) {
            // Another loader may replace it.
            if (loaderFor(architecture, { efiLoader, secureBoot, available }).kind === 'loader') continue;
            missing.set(file, (missing.get(file) ?? new Set()).add(inWords(architecture)));
          } else if (!starts(asset, architecture)) {
            const words = `is advertised to ${architecture.name} and is ${assetInWords(asset)}`;
            unfit.set(`${file} ${words}`, { file, words, what: 'loader', architectures: [inWords(architecture)] });
          }
        }
      }
    }
  }
  return {
    unfit: [...unfit.values()],
    missing: [...missing].map(([file, architectures]) => ({ file, what: 'loader', architectures: [...architectures] })),
  };
}

const inWords = ({ code, name }: ClientArchitecture): string => `${code} (${name})`;

function checkImage({ name, kind, cpus, part }: AdvertisedImage, find: Find): AdvertisedFiles {
  const asset = find(name);
  if (asset === null) return { unfit: [], missing: [{ file: name, what: part, architectures: cpus }] };
  // An initrd does not state its architecture.
  const startsOn = kind === 'initrd' ? cpus : cpus.filter((cpu) => cpu === asset.architecture);
  if (asset.kind !== kind || startsOn.length === 0) {
    const words = `is advertised to ${cpus.join(', ')} as ${kind} of the ${part} and is ${assetInWords(asset)}`;
    return { unfit: [{ file: name, words, what: part, architectures: cpus }], missing: [] };
  }
  const others = cpus.filter((cpu) => !startsOn.includes(cpu));
  return { unfit: [], missing: others.length === 0 ? [] : [{ file: name, what: part, architectures: others }] };
}

const starts = (asset: Asset, { cpu, firmware }: ClientArchitecture): boolean =>
  firmware === 'bios' ? asset.kind === 'bios' : asset.kind === 'efi' && asset.architecture === cpu;
