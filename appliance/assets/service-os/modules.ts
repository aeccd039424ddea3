// Selects the kernel modules for the service OS with their dependencies, and writes the two tables that modprobe(8) reads.
// depmod(8) handles modules of any processor too, but not a selection of them, and not in the format of our archive.

import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { moduleInfo } from './elf.ts';

export interface KernelModule {
  /** As modprobe spells it: with underscores. */
  readonly name: string;
  /** Relative to the kernel's module folder. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly depends: readonly string[];
  readonly aliases: readonly string[];
}

export const moduleName = (path: string): string => basename(path, '.ko').replaceAll('-', '_');

/** `folder`: lib/modules/<release>/kernel. Sorted by path, so that the same modules give the same archive. */
export async function chooseModules(
  folder: string,
  selection: readonly string[],
  without: readonly RegExp[],
): Promise<readonly KernelModule[]> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.ko'));
  const byName = new Map(paths.map((path) => [moduleName(path), path]));
  const isSelected = (path: string): boolean =>
    selection.some((name) => path === name || path.startsWith(`${name}/`)) &&
    !without.some((pattern) => pattern.test(`/${path}`));
  const chosen = new Map<string, KernelModule>();
  const queue = paths.filter(isSelected);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (chosen.has(path)) continue;
    const module = readModule(path, await readFile(join(folder, path)));
    chosen.set(path, module);
    // A dependency without a file is built into the kernel.
    queue.push(...module.depends.flatMap((name) => byName.get(name) ?? []));
  }
  if (chosen.size === 0) throw new ColdironError('service_unavailable', `${folder} has none of the selected modules`);
  return [...chosen.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

export function readModule(path: string, bytes: Buffer): KernelModule {
  const info = moduleInfo(bytes, path);
  const all = (key: string): string[] => info.flatMap(([name, value]) => (name === key ? value : []));
  const named = all('depends').flatMap((list) => list.split(','));
  // "pre: crc32c post: …": an algorithm or a module. The kernel itself loads algorithms, through their alias.
  const soft = all('softdep').flatMap((text) => /\bpre: ([^:]*?)(?: post:|$)/.exec(text)?.[1]?.split(' ') ?? []);
  const depends = [...named, ...soft].filter((name) => name !== '').map((name) => name.replaceAll('-', '_'));
  return { name: moduleName(path), path, bytes, depends: [...new Set(depends)], aliases: all('alias') };
}

/** modules.dep: each module with all modules that must be loaded before it; the first to load is last. */
export function dependencyTable(modules: readonly KernelModule[]): string {
  const byName = new Map(modules.map((module) => [module.name, module]));
  const collect = (module: KernelModule, order: Set<string>, above: readonly string[]): void => {
    for (const found of module.depends.flatMap((name) => byName.get(name) ?? [])) {
      // Soft dependencies may form a cycle.
      if (!order.has(found.path) && !above.includes(found.path)) collect(found, order, [...above, module.path]);
    }
    order.add(module.path);
  };
  const line = (module: KernelModule): string => {
    const order = new Set<string>();
    collect(module, order, []);
    const [, ...before] = [...order].reverse();
    return `kernel/${module.path}:${before.map((path) => ` kernel/${path}`).join('')}\n`;
  };
  return modules.map(line).join('');
}

export const aliasTable = (modules: readonly KernelModule[]): string =>
  modules.flatMap(({ name, aliases }) => aliases.map((alias) => `alias ${alias} ${name}\n`)).join('');
