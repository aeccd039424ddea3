// Reads template files from a folder: the built-in one, or an operator's replacement.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const BUILT_IN_TEMPLATES = join(import.meta.dirname, '../../templates');

const OWN_MODULES = join(import.meta.dirname, '../../nixos');

/** The NixOS modules that rendered configurations import, by their path below the flake's folder. */
export const readNodeModules = (): ReadonlyMap<string, string> =>
  new Map([...readTemplateFiles(OWN_MODULES)].filter(([name]) => !/^(?:appliance|installer)\//.test(name)));

/** By name: `nixos/configuration.nix` is nixos/configuration.nix.hbs; in ipxe/ and grub/ the extension is left out. */
export function readTemplateFiles(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map(files.map((file) => [templateName(file.slice(folder.length + 1)), readFileSync(file, 'utf8')]));
}

const templateName = (path: string): string =>
  /^(?:ipxe|grub)\//.test(path) ? path.replace(/\.[^./]+$/, '') : path.replace(/\.hbs$/, '');
