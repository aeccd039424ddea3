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

interface MissingFile {
  readonly file: string;
  /** `loader`, `service OS`, `installer of worker`. */
  readonly what: string;
  readonly architectures: readonly string[];
}

type Find = (name: string) => Asset | null;

/** `profiles`: the profiles that machines may be installed with. The service OS needs no profile. */
export function checkBootContract(find: Find, profiles: Iterable<InstalledProfile> = []): BootContract {
  const checks = [
    checkLoaders(find),
    ...advertisedImages(profiles, isIn(find)).map((image) => checkImage(image, find)),
  ];
  return {
    problems: checks.flatMap(({ problems }) => problems),
    missing: checks.flatMap(({ missing }) => missing),
  };
}

const isIn =
  (find: Find) =>
  (name: string): boolean =>
    find(name) !== null;

function checkLoaders(find: Find): BootContract {
  const available = isIn(find);
  const problems = new Set<string>();
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
            missing.set(file, (missing.get(file) ?? new Set()).add(`${architecture.code} (${architecture.name})`));
          } else if (!starts(asset, architecture)) {
            problems.add(`${file} is advertised to ${architecture.name} and is ${assetInWords(asset)}`);
          }
        }
      }
    }
  }
  return {
    problems: [...problems],
    missing: [...missing].map(([file, architectures]) => ({ file, what: 'loader', architectures: [...architectures] })),
  };
}

function checkImage({ name, kind, cpus, part }: AdvertisedImage, find: Find): BootContract {
  const asset = find(name);
  if (asset === null) return { problems: [], missing: [{ file: name, what: part, architectures: cpus }] };
  // An initrd does not state its architecture.
  const startsOn = kind === 'initrd' ? cpus : cpus.filter((cpu) => cpu === asset.architecture);
  if (asset.kind !== kind || startsOn.length === 0) {
    const what = `${kind} of the ${part}`;
    return {
      problems: [`${name} is advertised to ${cpus.join(', ')} as ${what} and is ${assetInWords(asset)}`],
      missing: [],
    };
  }
  const others = cpus.filter((cpu) => !startsOn.includes(cpu));
  return { problems: [], missing: others.length === 0 ? [] : [{ file: name, what: part, architectures: others }] };
}

const starts = (asset: Asset, { cpu, firmware }: ClientArchitecture): boolean =>
  firmware === 'bios' ? asset.kind === 'bios' : asset.kind === 'efi' && asset.architecture === cpu;
