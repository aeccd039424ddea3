// Advertised = served: everything that some rule can send some machine to is in the library and is a program for that kind
// of machine. What is not there is not advertised; what is there and wrong is a problem.

import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../domain/architecture.ts';
import { loaderFor } from '../policy/loaders.ts';
import type { Asset } from './asset.ts';
import { fileTypeInWords } from './file-type.ts';

export interface BootContract {
  /** A machine would be sent a file that it cannot start. */
  readonly problems: readonly string[];
  /** Files that are not here, with the kinds of machine that therefore get no loader. */
  readonly missing: readonly { readonly file: string; readonly architectures: readonly string[] }[];
}

export function checkBootContract(find: (name: string) => Asset | null): BootContract {
  const available = (name: string): boolean => find(name) !== null;
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
            problems.add(`${file} is advertised to ${architecture.name} and is ${inWords(asset)}`);
          }
        }
      }
    }
  }
  return {
    problems: [...problems],
    missing: [...missing].map(([file, architectures]) => ({ file, architectures: [...architectures] })),
  };
}

const starts = (asset: Asset, { cpu, firmware }: ClientArchitecture): boolean =>
  firmware === 'bios' ? asset.kind === 'bios' : asset.kind === 'efi' && asset.architecture === cpu;

const inWords = ({ kind, architecture }: Asset): string =>
  fileTypeInWords(kind === 'efi' || kind === 'kernel' ? { kind, cpu: architecture } : { kind });
