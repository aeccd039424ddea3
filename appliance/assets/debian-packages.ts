// Files out of Debian packages, installed or not. Downloads use lists and a cache of their own in a temporary folder: the
// machine's package state, its architectures above all, stays as it is.

import { execFile } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ColdironError } from '../domain/errors.ts';

export interface PackageWanted {
  readonly package: string;
  readonly architecture: string | null;
}

/** A package's files as a tree: the machine's own root, or where it was unpacked. */
export interface PackageTree {
  readonly root: string;
  readonly version: string;
  /** For people: name, version, and whether it was installed. */
  readonly title: string;
}

const exec = promisify(execFile);

/** Its standard output; `service_unavailable` with its own words when it fails. */
export async function run(command: string, args: readonly string[], cwd = '/'): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  try {
    return (await exec(command, args, { cwd, env, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === 'ENOENT') {
      throw new ColdironError('service_unavailable', `${command} is not here: boot files are built on Debian systems`);
    }
    const reason = (stderr ?? '').split('\n').find((line) => line.startsWith('E:')) ?? stderr?.trim() ?? message;
    throw new ColdironError('service_unavailable', `${command} ${args.at(-1)}: ${reason}`);
  }
}

/** null: not installed, or installed for another architecture. */
export async function installedPackage(wanted: PackageWanted): Promise<PackageTree | null> {
  const told = await run('dpkg-query', ['--status', packageSpec(wanted)]).catch((error: Error) => {
    if (error.message.includes('is not installed')) return '';
    throw error;
  });
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(told)?.[1] ?? '';
  if (!field('Status').endsWith(' installed')) return null;
  if (wanted.architecture !== null && wanted.architecture !== field('Architecture')) return null;
  const version = field('Version');
  return { root: '/', version, title: `Debian ${wanted.package} ${version} (installed)` };
}

const packageSpec = ({ package: name, architecture }: PackageWanted): string =>
  architecture === null ? name : `${name}:${architecture}`;

export interface PackageDownloads {
  unpacked(wanted: PackageWanted): Promise<PackageTree>;
  /** The names it depends on, of the same architecture: a kernel's metapackage names the kernel itself. */
  dependencies(wanted: PackageWanted): Promise<readonly string[]>;
}

/** `folder`: a temporary one, which the caller removes. */
export async function prepareDownloads(
  folder: string,
  architectures: readonly string[],
  say: (line: string) => void,
): Promise<PackageDownloads> {
  const own = (await run('dpkg', ['--print-architecture'])).trim();
  const options = Object.entries({
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    // The folder is ours alone, so apt's unprivileged user could not write there.
    'APT::Sandbox::User': 'root',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  for (const architecture of new Set([own, ...architectures])) {
    options.push('-o', `APT::Architectures::=${architecture}`);
  }
  for (const name of ['lists/partial', 'cache/archives/partial']) await mkdir(join(folder, name), { recursive: true });
  say(`reading Debian's package lists for ${[own, ...architectures.filter((name) => name !== own)].join(', ')}`);
  await run('apt-get', ['-qq', ...options, 'update']);

  return {
    async dependencies(wanted) {
      const told = await run('apt-cache', [...options, 'depends', packageSpec(wanted)]);
      return [...told.matchAll(/^ *\|?Depends: ([a-z0-9][a-z0-9+.-]+)/gm)].flatMap(([, name]) => name ?? []);
    },
    async unpacked(wanted) {
      const spec = packageSpec(wanted);
      const place = join(folder, spec.replaceAll(':', '_'));
      await mkdir(join(place, 'root'), { recursive: true });
      say(`downloading ${spec}`);
      await run('apt-get', ['-qq', ...options, 'download', spec], place);
      const archive = (await readdir(place)).find((name) => name.endsWith('.deb'));
      if (archive === undefined)
        throw new ColdironError('service_unavailable', `apt-get downloaded nothing for ${spec}`);
      await run('dpkg-deb', ['-x', archive, 'root'], place);
      const version = (await run('dpkg-deb', ['-f', archive, 'Version'], place)).trim();
      return { root: join(place, 'root'), version, title: `Debian ${wanted.package} ${version}` };
    },
  };
}

/** The file at this path of the package. */
export async function fileInTree(tree: PackageTree, path: string): Promise<string> {
  const file = join(tree.root, path);
  const found = await stat(file).catch(() => null);
  if (!found?.isFile()) throw new ColdironError('service_unavailable', `${tree.title} has no file ${path}`);
  return file;
}
