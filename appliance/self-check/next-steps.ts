// The commands that problems of the appliance name. They name the state folder, so that they work from any folder.

import { isLoaderName } from '../assets/asset-name.ts';
import { builtImageNamed } from '../assets/built-images.ts';

/** POSIX shell: text in single quotes is literal. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** What restores a boot file. Whoever placed a file that is neither built nor fetched must place it again. */
export function restoreCommand(name: string, restore: 'build' | 'fetch', state: string): string {
  const target = `--state ${shellWord(state)}`;
  if (restore === 'fetch') return `coldiron assets fetch ${shellWord(name)} ${target}`;
  const image = builtImageNamed(name.replace(/\/[^/]*$/, ''));
  if (image !== null) return `coldiron assets build ${image} ${target}`;
  return isLoaderName(name) ? `coldiron assets build ${shellWord(name)} ${target}` : `coldiron assets verify ${target}`;
}

/** One command builds all of them; the installer of a profile is built elsewhere. */
export const buildCommand = (name: string, state: string): string =>
  `${name.startsWith('nixos/') ? 'coldiron assets verify' : 'coldiron assets build'} --state ${shellWord(state)}`;

export const checkCommand = (state: string): string => `coldiron check --state ${shellWord(state)}`;
