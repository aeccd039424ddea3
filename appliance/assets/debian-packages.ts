// Reads files out of Debian packages, installed or not. Downloads use separate lists and a separate cache in a temporary folder,
// so the host's package state, in particular its architectures, does not change.

import { execFile } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ColdironError } from '../domain/errors.ts';

export interface PackageRequest {
  readonly package: string;
  readonly architecture: string | null;
}

/** A package's files as a tree: the host's root, or the folder it was unpacked to. */
export interface PackageTree {
  readonly root: string;
  readonly version: string;
  /** For people: name, version, and whether it is installed. */
  readonly title: string;
}

const exec = promisify(execFile);

/** A program that is missing, or that failed. */
export class ToolError extends ColdironError {
  /** Null: it is not installed, or was ended by a signal. */
  readonly exitCode: number | null;
  readonly errorOutput: string;

  constructor(message: string, exitCode: number | null, errorOutput: string) {
    super('service_unavailable', message);
    this.exitCode = exitCode;
    this.errorOutput = errorOutput;
  }
}

/** Returns standard output. Fails with a ToolError that quotes the program's error output. */
export async function runTool(command: string, args: readonly string[], cwd = '/'): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  try {
    return (await exec(command, args, { cwd, env, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { code, stderr = '', message } = error as Error & { code?: string | number | null; stderr?: string };
    if (code === 'ENOENT') {
      throw new ToolError(`${command} is not installed: boot files can be built only on Debian`, null, '');
    }
    const reason = stderr.split('\n').find((line) => line.startsWith('E:')) ?? (stderr.trim() || message);
    throw new ToolError(`${command} ${args.at(-1)}: ${reason}`, typeof code === 'number' ? code : null, stderr);
  }
}

/** dpkg-query(1), exit status. */
const NO_SUCH_PACKAGE = 1;

/** null: not installed, or installed for another architecture. */
export async function installedPackage(requested: PackageRequest): Promise<PackageTree | null> {
  const output = await runTool('dpkg-query', ['--status', packageSpec(requested)]).catch((error: unknown) => {
    if (error instanceof ToolError && error.exitCode === NO_SUCH_PACKAGE) return '';
    throw error;
  });
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(output)?.[1] ?? '';
  if (!field('Status').endsWith(' installed')) return null;
  if (requested.architecture !== null && requested.architecture !== field('Architecture')) return null;
  const version = field('Version');
  return { root: '/', version, title: `Debian ${requested.package} ${version} (installed)` };
}

const packageSpec = ({ package: name, architecture }: PackageRequest): string =>
  architecture === null ? name : `${name}:${architecture}`;

export interface PackageDownloads {
  unpacked(requested: PackageRequest): Promise<PackageTree>;
  /** Names of the packages it depends on, for the same architecture: a kernel's metapackage depends on the kernel itself. */
  dependencies(requested: PackageRequest): Promise<readonly string[]>;
}

/** `folder`: a temporary one; the caller removes it. */
export async function prepareDownloads(
  folder: string,
  architectures: readonly string[],
  say: (line: string) => void,
): Promise<PackageDownloads> {
  const own = (await runTool('dpkg', ['--print-architecture'])).trim();
  const options = Object.entries({
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    // The folder belongs to us alone, so apt's unprivileged user could not write there.
    'APT::Sandbox::User': 'root',
  }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  for (const architecture of new Set([own, ...architectures])) {
    options.push('-o', `APT::Architectures::=${architecture}`);
  }
  for (const name of ['lists/partial', 'cache/archives/partial']) await mkdir(join(folder, name), { recursive: true });
  say(`reading Debian's package lists for ${[own, ...architectures.filter((name) => name !== own)].join(', ')}`);
  await runTool('apt-get', ['-qq', ...options, 'update']);

  return {
    async dependencies(requested) {
      const output = await runTool('apt-cache', [...options, 'depends', packageSpec(requested)]);
      return [...output.matchAll(/^ *\|?Depends: ([a-z0-9][a-z0-9+.-]+)/gm)].flatMap(([, name]) => name ?? []);
    },
    async unpacked(requested) {
      const spec = packageSpec(requested);
      const place = join(folder, spec.replaceAll(':', '_'));
      await mkdir(join(place, 'root'), { recursive: true });
      say(`downloading ${spec}`);
      await runTool('apt-get', ['-qq', ...options, 'download', spec], place);
      const archive = (await readdir(place)).find((name) => name.endsWith('.deb'));
      if (archive === undefined)
        throw new ColdironError('service_unavailable', `apt-get downloaded nothing for ${spec}`);
      await runTool('dpkg-deb', ['-x', archive, 'root'], place);
      const version = (await runTool('dpkg-deb', ['-f', archive, 'Version'], place)).trim();
      return { root: join(place, 'root'), version, title: `Debian ${requested.package} ${version}` };
    },
  };
}

/** Path of this file in the unpacked package. */
export async function fileInTree(tree: PackageTree, path: string): Promise<string> {
  const file = join(tree.root, path);
  const found = await stat(file).catch(() => null);
  if (!found?.isFile()) throw new ColdironError('service_unavailable', `${tree.title} has no file ${path}`);
  return file;
}
