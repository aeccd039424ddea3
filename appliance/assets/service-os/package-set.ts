// A set of Debian packages with everything they depend on, for any architecture, resolved by apt against an empty machine:
// what is installed here does not matter, and nothing here changes.

import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import { run } from '../debian-packages.ts';

export interface PackageSet {
  /** One line for each package: its file's name, with the version, and size. */
  readonly contents: readonly string[];
  /** Downloads what is missing, and unpacks all of it into `root`. */
  unpackInto(root: string): Promise<void>;
}

const LOCKED_FOR_SECONDS = 600;
const LISTS_ARE_FRESH_FOR_MS = 24 * 60 * 60 * 1000;

/** `folder`: kept; apt's lists and archives stay there for the next time. */
export async function resolvePackages(
  folder: string,
  architecture: string,
  names: readonly string[],
  say: (line: string) => void,
): Promise<PackageSet> {
  const options = await aptOptions(folder, architecture);
  if (!(await listsAreFresh(folder))) {
    say(`reading Debian's package lists for ${architecture}`);
    await apt(['-qq', ...options, 'update']);
    await writeFile(join(folder, 'updated'), '');
  }
  const install = ['-qq', ...options, '--yes', 'install'];
  // With an archive folder that stays empty: what is downloaded already would be left out.
  const told = await apt([
    ...['-o', `Dir::Cache::archives=${join(folder, 'nothing')}`],
    ...[...install, '--print-uris', ...names],
  ]);
  // 'http://…' name_version_arch.deb size, and a checksum in some archives only.
  const found = [...told.matchAll(/^'[^']*' (\S+\.deb) (\d+)/gm)];
  return {
    contents: found.map(([, file, size]) => `${file} ${size}`).sort(),
    async unpackInto(root) {
      say(`downloading ${found.length} packages for ${architecture}`);
      await apt([...install, '--download-only', ...names]);
      const archives = join(folder, 'cache/archives');
      const wanted = new Set(found.map(([, file]) => file));
      const files = (await readdir(archives)).filter((file) => wanted.has(file)).sort();
      say(`unpacking ${files.length} packages for ${architecture}`);
      for (const file of files) await run('dpkg-deb', ['-x', join(archives, file), root]);
    },
  };
}

export const packageSetKey = (...parts: readonly (readonly string[])[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);

/** Another build may be using the same folder; apt itself does not wait for all of its locks. */
async function apt(args: readonly string[]): Promise<string> {
  for (let second = 0; ; second += 1) {
    try {
      return await run('apt-get', args);
    } catch (error) {
      const isBusy = error instanceof ColdironError && /Could not get lock|Unable to lock/.test(error.message);
      if (!isBusy || second >= LOCKED_FOR_SECONDS) throw error;
      await setTimeout(1000);
    }
  }
}

async function aptOptions(folder: string, architecture: string): Promise<readonly string[]> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'nothing/partial'])
    await mkdir(join(folder, name), { recursive: true });
  const status = join(folder, 'status');
  await writeFile(status, '');
  return Object.entries({
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': status,
    'Dir::Cache': join(folder, 'cache'),
    // The folder is ours alone, so apt's unprivileged user could not write there.
    'APT::Sandbox::User': 'root',
    'APT::Architecture': architecture,
    'APT::Architectures::': architecture,
    'APT::Install-Recommends': 'false',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
}

async function listsAreFresh(folder: string): Promise<boolean> {
  const updated = await stat(join(folder, 'updated')).catch(() => null);
  return updated !== null && Date.now() - updated.mtimeMs < LISTS_ARE_FRESH_FOR_MS;
}
