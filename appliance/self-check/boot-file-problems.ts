// Boot files that are damaged, and boot files that are missing for machines of the inventory.

import type { Asset } from '../assets/asset.ts';
import { isLoaderName } from '../assets/asset-name.ts';
import { type AdvertisedFiles, checkAdvertised, type MissingFile } from '../assets/boot-contract.ts';
import type { UnusableFile } from '../assets/library.ts';
import { loaderFor } from '../boot/loaders.ts';
import type { FoundProblem } from '../domain/appliance-problem.ts';
import { CLIENT_ARCHITECTURES } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { buildCommand, restoreCommand } from './next-steps.ts';

export interface BootFileFacts {
  readonly assets: readonly Asset[];
  readonly unusable: readonly UnusableFile[];
  readonly profiles: Iterable<Profile>;
  readonly networks: Iterable<SiteNetwork>;
  /** The processors of the machines in the inventory, and the profiles that they are declared with. */
  readonly cpus: ReadonlySet<string>;
  readonly profilesInUse: ReadonlySet<string>;
  readonly state: string;
}

export function bootFileProblems(facts: BootFileFacts): FoundProblem[] {
  const { assets, unusable, state } = facts;
  const byName = new Map(assets.map((asset) => [asset.name, asset]));
  const profiles = [...facts.profiles].filter(({ name }) => facts.profilesInUse.has(name));
  const advertised = checkAdvertised((name) => byName.get(name) ?? null, profiles);
  const named = new Set<string>();
  const damaged = (name: string, words: string, restore: 'build' | 'fetch'): FoundProblem[] => {
    if (named.has(name)) return [];
    named.add(name);
    return [
      {
        id: 'boot-file-damaged',
        subject: name,
        words: `the boot file ${name} is damaged: it ${words}`,
        nextStep: restoreCommand(name, restore, state),
        ...roleOf(name, advertised),
      },
    ];
  };
  const isThere = (name: string): boolean => byName.has(name) || unusable.some((file) => file.name === name);
  const missing = [
    ...missingLoaders(facts, isThere),
    ...advertised.missing.filter(
      ({ file, what, architectures }) =>
        what !== LOADER && !isThere(file) && architectures.some((cpu) => facts.cpus.has(cpu)),
    ),
  ];
  return [
    ...assets.flatMap(({ name, damage }) => (damage ? damaged(name, damage.words, damage.restore) : [])),
    ...unusable.flatMap(({ name, reason }) => damaged(name, reason, 'build')),
    ...advertised.unfit.flatMap(({ file, words }) => damaged(file, words, 'build')),
    ...missing.map(
      ({ file, what, architectures }): FoundProblem => ({
        id: 'boot-file-missing',
        subject: file,
        words: `the boot file ${file} (${what}) is missing: machines of ${architectures.join(', ')} cannot boot without it`,
        nextStep: buildCommand(file, state),
        ...{ what, architectures },
      }),
    ),
  ];
}

const LOADER = 'loader';

/** The loaders that a network would offer to machines of the inventory, and that nothing here replaces. */
function missingLoaders({ networks, cpus }: BootFileFacts, available: (name: string) => boolean): MissingFile[] {
  const missing = new Map<string, Set<string>>();
  const clients = [...CLIENT_ARCHITECTURES.values()].filter(({ cpu }) => cpu !== null && cpus.has(cpu));
  for (const { dhcp, server, efiLoader, secureBoot } of networks) {
    if (dhcp === 'off' || server === null) continue;
    for (const client of clients) {
      const wanted = loaderFor(client, { efiLoader, secureBoot });
      if (wanted.kind === 'none' || loaderFor(client, { efiLoader, secureBoot, available }).kind === LOADER) continue;
      for (const file of [wanted.file, wanted.next ?? wanted.file].filter((name) => !available(name))) {
        missing.set(file, (missing.get(file) ?? new Set()).add(`${client.code} (${client.name})`));
      }
    }
  }
  return [...missing].map(([file, clients]) => ({ file, what: LOADER, architectures: [...clients] }));
}

function roleOf(
  name: string,
  { unfit, missing }: AdvertisedFiles,
): { readonly what: string; readonly architectures: readonly string[] } {
  const known = [...unfit, ...missing].find(({ file }) => file === name);
  if (known) return { what: known.what, architectures: known.architectures };
  const serviceOs = /^images\/service-os-([^/]+)\//.exec(name)?.[1];
  if (serviceOs !== undefined) return { what: 'service OS', architectures: [serviceOs] };
  return { what: isLoaderName(name) ? LOADER : 'image', architectures: [] };
}
