// Advertised = served: everything that some rule can send some machine to, loaders, kernels and initrds, is in the library and
// is for that kind of machine. What is not there is not advertised; what is there and wrong is a problem.

import { loaderFor } from '../boot/loaders.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../domain/architecture.ts';
import { type AdvertisedImage, advertisedImages, type InstalledProfile } from './advertised-images.ts';
import { type Asset, assetInWords } from './asset.ts';

export interface BootContract {
  /** A machine would be sent a file that it cannot start. */
  readonly problems: readonly string[];
  /** Files that are not here, what they are part of, and the kinds of machine that therefore do not get it. */
  readonly missing: readonly MissingFile[];
}

interface MissingFile {
  readonly file: string;
  /** `loader`, `service OS`, `installer of worker`. */
  readonly what: string;
  readonly architectures: readonly string[];
}

type Find = (name: string) => Asset | null;

/** `profiles`: what machines may be installed with; the service OS is started without one. */
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
            // Something else may stand in for it.
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
  // An initrd does not tell what it is for.
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
