// Boot files that are damaged, and boot files that are missing for machines of the inventory.

import type { Asset } from '../assets/asset.ts';
import { isLoaderName } from '../assets/asset-name.ts';
import { type AdvertisedFiles, checkAdvertised } from '../assets/boot-contract.ts';
import type { UnusableFile } from '../assets/library.ts';
import type { FoundProblem } from '../domain/appliance-problem.ts';
import { CLIENT_ARCHITECTURES } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import { buildCommand, restoreCommand } from './next-steps.ts';

export interface BootFileFacts {
  readonly assets: readonly Asset[];
  readonly unusable: readonly UnusableFile[];
  readonly profiles: Iterable<Profile>;
  /** The processors of the machines in the inventory. */
  readonly cpus: ReadonlySet<string>;
  readonly state: string;
}

export function bootFileProblems(facts: BootFileFacts): FoundProblem[] {
  const { assets, unusable, state } = facts;
  const byName = new Map(assets.map((asset) => [asset.name, asset]));
  const advertised = checkAdvertised((name) => byName.get(name) ?? null, facts.profiles);
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
  const missing = advertised.missing.filter(
    ({ file, architectures }) =>
      !unusable.some(({ name }) => name === file) && architectures.some(isNeeded(facts.cpus)),
  );
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

/** Loaders are listed by the code of option 93, images by the processor. */
const isNeeded =
  (cpus: ReadonlySet<string>) =>
  (architecture: string): boolean => {
    const code = /^(\d+) /.exec(architecture)?.[1];
    const cpu = code === undefined ? architecture : CLIENT_ARCHITECTURES.get(Number(code))?.cpu;
    return cpu !== undefined && cpu !== null && cpus.has(cpu);
  };

function roleOf(
  name: string,
  { unfit, missing }: AdvertisedFiles,
): { readonly what: string; readonly architectures: readonly string[] } {
  const known = [...unfit, ...missing].find(({ file }) => file === name);
  if (known) return { what: known.what, architectures: known.architectures };
  const serviceOs = /^images\/service-os-([^/]+)\//.exec(name)?.[1];
  if (serviceOs !== undefined) return { what: 'service OS', architectures: [serviceOs] };
  return { what: isLoaderName(name) ? 'loader' : 'image', architectures: [] };
}
