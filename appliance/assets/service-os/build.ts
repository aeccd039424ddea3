// Builds the service OS: a Debian kernel, and an initrd of two parts. The first holds our scripts. The second holds programs and
// modules; it takes minutes and is cached by the hash of its inputs. The same inputs give the same bytes.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { ColdironError } from '../../domain/errors.ts';
import { buildCache, buildOnce, openBuildCache, publish } from '../build-cache.ts';
import { type ArchiveEntry, archivedFiles, cpioArchive } from '../cpio.ts';
import { aliasTable, chooseModules, dependencyTable, type KernelModule } from './modules.ts';
import { packageSetKey, resolvePackages } from './package-set.ts';
import { foldersOf, programEntries } from './programs.ts';
import {
  LIBRARY_FOLDER,
  MODULES,
  MORE_LIBRARIES,
  PACKAGES,
  PROGRAMS,
  type ServiceOsArchitecture,
  WITHOUT,
} from './recipe.ts';

export interface ServiceOs {
  readonly kernel: string;
  readonly initrd: string;
  /** For people: the kernel's release and the source of the rest. */
  readonly title: string;
}

export interface ServiceOsOptions {
  readonly architecture: ServiceOsArchitecture;
  /** Folder that keeps finished builds and downloads for later runs. */
  readonly cache?: string;
  readonly say?: (line: string) => void;
}

const SCRIPTS = join(import.meta.dirname, '../../../boot-assets/service-os');
/** Increment it when the same recipe must give a different archive. */
const FORMAT_VERSION = 3;

/** `target`: the folder that receives `kernel` and `initrd`. */
export async function buildServiceOs(target: string, options: ServiceOsOptions): Promise<ServiceOs> {
  const { architecture, cache = buildCache('service-os'), say = () => {} } = options;
  await openBuildCache(cache);
  const names = [`linux-image-${architecture}`, ...PACKAGES];
  const packages = await resolvePackages(join(cache, `apt-${architecture}`), architecture, names, say);
  const recipe = [FORMAT_VERSION, PROGRAMS, MORE_LIBRARIES, MODULES, WITHOUT.map(String)].map((part) =>
    JSON.stringify(part),
  );
  const place = join(cache, `${architecture}-${packageSetKey(recipe, packages.contents)}`);
  await buildOnce(place, async () => {
    const scratch = await mkdtemp(join(cache, '.build-'));
    try {
      const root = join(scratch, 'root');
      await mkdir(root);
      await packages.unpackInto(root);
      say(`assembling the service OS for ${architecture}`);
      await buildBase(root, architecture, join(scratch, 'base'));
      await publish(join(scratch, 'base'), place);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
  const files = { kernel: join(target, 'kernel'), initrd: join(target, 'initrd') };
  await cp(join(place, 'kernel'), files.kernel);
  const base = await readFile(join(place, 'base.cpio.zst'));
  const scripts = await scriptEntries();
  const entries = [...scripts, await fileList(scripts, base)];
  await writeFile(files.initrd, Buffer.concat([cpioArchive(entries), base]));
  return { ...files, title: (await readFile(join(place, 'title'), 'utf8')).trim() };
}

async function buildBase(root: string, architecture: ServiceOsArchitecture, target: string): Promise<void> {
  const release = await kernelRelease(root);
  const modules = await chooseModules(join(root, 'lib/modules', release, 'kernel'), MODULES, WITHOUT);
  const tree = { root, libraries: LIBRARY_FOLDER[architecture] };
  const files: ArchiveEntry[] = [
    ...(await programEntries(tree, PROGRAMS, MORE_LIBRARIES)),
    ...moduleEntries(modules, `lib/modules/${release}`),
  ];
  const folders = foldersOf(files.map(({ path }) => path));
  await mkdir(target);
  await cp(join(root, 'boot', `vmlinuz-${release}`), join(target, 'kernel'));
  // Built once, fetched by every machine; all levels decompress equally fast. The kernel accepts a window of up to 2^27 bytes.
  const params = {
    [constants.ZSTD_c_compressionLevel]: 19,
    [constants.ZSTD_c_windowLog]: 25,
    [constants.ZSTD_c_enableLongDistanceMatching]: 1,
  };
  await writeFile(
    join(target, 'base.cpio.zst'),
    await promisify(zstdCompress)(cpioArchive([...folders, ...files]), { params }),
  );
  await writeFile(join(target, 'title'), `Debian linux-image-${release} and ${PACKAGES.length} packages of tools\n`);
}

/** With it, the first program notices that the kernel could not unpack the whole initrd: the number of files, and the last one. */
async function fileList(scripts: readonly ArchiveEntry[], base: Buffer): Promise<ArchiveEntry> {
  const inBase = archivedFiles(await promisify(zstdDecompress)(base));
  const count = inBase.length + scripts.filter(({ kind }) => kind === 'file').length + 1;
  const text = `${count}\n${inBase.at(-1) ?? ''}\n`;
  return { path: 'service-os/files', kind: 'file', bytes: Buffer.from(text), executable: false };
}

async function kernelRelease(root: string): Promise<string> {
  const found = (await readdir(join(root, 'lib/modules'))).sort().at(-1);
  if (found === undefined) throw new ColdironError('service_unavailable', 'the packages have no kernel modules');
  return found;
}

/** Uncompressed: compressed one by one they would take two fifths more of the archive, and need a program to load each. */
function moduleEntries(modules: readonly KernelModule[], folder: string): readonly ArchiveEntry[] {
  const entries = modules.map(
    ({ path, bytes }): ArchiveEntry => ({ path: `${folder}/kernel/${path}`, kind: 'file', bytes, executable: false }),
  );
  const text = (name: string, content: string): ArchiveEntry => ({
    path: `${folder}/${name}`,
    kind: 'file',
    bytes: Buffer.from(content),
    executable: false,
  });
  return [
    ...entries,
    text('modules.dep', dependencyTable(modules)),
    text('modules.alias', aliasTable(modules)),
    text('modules.symbols', ''),
  ];
}

/** /init, the other scripts in /service-os, and the few folders and files that programs expect. */
async function scriptEntries(): Promise<readonly ArchiveEntry[]> {
  const names = (await readdir(SCRIPTS)).filter((name) => /^[a-z][a-z-]*(?:\.sh|\.jq)?$/.test(name)).sort();
  const files: ArchiveEntry[] = [];
  for (const name of names) {
    const path = name === 'init' ? 'init' : `service-os/${name}`;
    files.push({ path, kind: 'file', bytes: await readFile(join(SCRIPTS, name)), executable: !name.endsWith('.jq') });
  }
  const etc = (name: string, content: string): ArchiveEntry => ({
    path: `etc/${name}`,
    kind: 'file',
    bytes: Buffer.from(content),
    executable: false,
  });
  const folders = [
    'bin',
    'dev',
    'etc',
    'mnt',
    'proc',
    'root',
    'run',
    'sbin',
    'service-os',
    'sys',
    'tmp',
    'usr',
    'usr/bin',
    'var',
  ];
  return [
    ...folders.map((path): ArchiveEntry => ({ path, kind: 'folder' })),
    ...files,
    // No password login; rescue mode accepts SSH keys.
    etc('passwd', 'root:*:0:0:root:/root:/bin/sh\n'),
    etc('group', 'root:x:0:\n'),
    etc('shells', '/bin/sh\n'),
    // The kernel runs it under this name.
    { path: 'sbin/modprobe', kind: 'link', to: '/bin/busybox' },
    { path: 'bin/sh', kind: 'link', to: 'dash' },
    { path: 'var/run', kind: 'link', to: '/run' },
  ];
}
