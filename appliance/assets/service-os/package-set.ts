// A set of Debian packages with their dependencies, for any architecture. apt resolves it against an empty installation, so
// packages installed on this host do not matter, and the host does not change.

import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { runTool, ToolError } from '../debian-packages.ts';

export interface PackageSet {
  /** One line per package: its file name, with the version, and its size. */
  readonly contents: readonly string[];
  /** Downloads missing packages, and unpacks all of them into `root`. */
  unpackInto(root: string): Promise<void>;
}

const LOCK_TIMEOUT_SECONDS = 600;
const LISTS_ARE_FRESH_FOR_MS = 24 * 60 * 60 * 1000;

/** `folder`: kept; it holds apt's lists and archives for later runs. */
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
  // With an empty archive folder: apt would omit packages that are already downloaded.
  const output = await apt([
    ...['-o', `Dir::Cache::archives=${join(folder, 'empty')}`],
    ...[...install, '--print-uris', ...names],
  ]);
  // 'http://…' name_version_arch.deb size; only some archives add a checksum.
  const found = [...output.matchAll(/^'[^']*' (\S+\.deb) (\d+)/gm)];
  return {
    contents: found.map(([, file, size]) => `${file} ${size}`).sort(),
    async unpackInto(root) {
      say(`downloading ${found.length} packages for ${architecture}`);
      await apt([...install, '--download-only', ...names]);
      const archives = join(folder, 'cache/archives');
      const wanted = new Set(found.map(([, file]) => file));
      const files = (await readdir(archives)).filter((file) => wanted.has(file)).sort();
      say(`unpacking ${files.length} packages for ${architecture}`);
      for (const file of files) await runTool('dpkg-deb', ['-x', join(archives, file), root]);
    },
  };
}

export const packageSetKey = (...parts: readonly (readonly string[])[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);

/** apt's own words; its exit status is the same for every failure. */
const APT_IS_LOCKED = /Could not get lock|Unable to lock/;

/** Another build may use the same folder, and apt does not wait for all of its locks. */
async function apt(args: readonly string[]): Promise<string> {
  for (let second = 0; ; second += 1) {
    try {
      return await runTool('apt-get', args);
    } catch (error) {
      const isBusy = error instanceof ToolError && APT_IS_LOCKED.test(error.errorOutput);
      if (!isBusy || second >= LOCK_TIMEOUT_SECONDS) throw error;
      await setTimeout(1000);
    }
  }
}

async function aptOptions(folder: string, architecture: string): Promise<readonly string[]> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'empty/partial'])
    await mkdir(join(folder, name), { recursive: true });
  const status = join(folder, 'status');
  await writeFile(status, '');
  return Object.entries({
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': status,
    'Dir::Cache': join(folder, 'cache'),
    // The folder belongs to us alone, so apt's unprivileged user could not write there.
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
