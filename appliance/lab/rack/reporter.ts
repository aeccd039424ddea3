// A kernel and a minimal initrd that take an address by DHCP and report to the appliance: the proof that a machine booted
// all the way from its firmware to a running system.
//
// It reports to the URL in `coldiron.report=` of its command line, else to the appliance that `coldiron.server=` names.

import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { buildCache, exists, openBuildCache, publish } from '../../assets/build-cache.ts';
import { type ArchiveEntry, cpioArchive } from '../../assets/cpio.ts';
import { fileInTree, type PackageDownloads, prepareDownloads } from '../../assets/debian-packages.ts';
import { ColdironError } from '../../domain/errors.ts';

export interface Reporter {
  readonly kernel: string;
  readonly initrd: string;
}

/** Debian's architecture names, because the packages are Debian's; amd64's kernel is signed for Secure Boot. */
export type ReporterArchitecture = 'amd64' | 'arm64';

export interface ReporterOptions {
  /** Folder that keeps finished builds for later runs. */
  readonly cache?: string;
  readonly say?: (line: string) => void;
}

/** In load order of current kernels. A module that is built into the kernel has no file. */
const MODULES = [
  'virtio_ring',
  'virtio',
  'virtio_pci_modern_dev',
  'virtio_pci_legacy_dev',
  'virtio_pci',
  'failover',
  'net_failover',
  'virtio_net',
];

const FILES: readonly { readonly path: string; readonly source: string }[] = [
  { path: 'init', source: 'reporter-init.sh' },
  { path: 'address', source: 'reporter-address.sh' },
];

/** Builds each architecture once; later calls, also in other processes, get the same files. */
export async function buildReporters(
  architectures: readonly ReporterArchitecture[],
  options: ReporterOptions = {},
): Promise<ReadonlyMap<ReporterArchitecture, Reporter>> {
  const { cache = buildCache('reporter'), say = () => {} } = options;
  const recipe = await recipeKey();
  const place = (architecture: ReporterArchitecture): string => join(cache, `${architecture}-${recipe}`);
  const missing: ReporterArchitecture[] = [];
  await openBuildCache(cache);
  for (const architecture of architectures) if (!(await exists(place(architecture)))) missing.push(architecture);
  if (missing.length > 0) {
    const scratch = await mkdtemp(join(cache, '.build-'));
    try {
      const downloads = await prepareDownloads(join(scratch, 'packages'), missing, say);
      for (const architecture of missing) {
        const built = join(scratch, architecture);
        await build(architecture, downloads, built);
        await publish(built, place(architecture));
      }
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  return new Map(architectures.map((architecture) => [architecture, filesIn(place(architecture))]));
}

const filesIn = (folder: string): Reporter => ({ kernel: join(folder, 'kernel'), initrd: join(folder, 'initrd') });

/**
 * Hash of the contents and the Debian release. Without package versions: querying them takes longer than
 * building, and any kernel of a release will do.
 */
async function recipeKey(): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(MODULES));
  for (const { path, source } of FILES) hash.update(path).update(await readFile(join(import.meta.dirname, source)));
  const release = await readFile('/etc/debian_version', 'utf8').catch(() => '');
  return hash.update(release).digest('hex').slice(0, 16);
}

async function build(architecture: ReporterArchitecture, downloads: PackageDownloads, target: string): Promise<void> {
  const meta = { package: `linux-image-cloud-${architecture}`, architecture };
  const name = (await downloads.dependencies(meta)).find((dependency) => dependency.startsWith('linux-image-'));
  if (name === undefined) throw new ColdironError('service_unavailable', `${meta.package} names no kernel`);
  const kernel = await downloads.unpacked({ package: name, architecture });
  const busybox = await downloads.unpacked({ package: 'busybox-static', architecture });
  const release = name.replace('linux-image-', '');

  await mkdir(target);
  await cp(await fileInTree(kernel, `/boot/vmlinuz-${release}`), join(target, 'kernel'));
  const entries: ArchiveEntry[] = ['bin', 'dev', 'proc', 'sys', 'modules'].map((path) => ({ path, kind: 'folder' }));
  entries.push(program('bin/busybox', await readFile(await fileInTree(busybox, '/bin/busybox'))));
  for (const { path, source } of FILES) {
    entries.push(program(path, await readFile(join(import.meta.dirname, source))));
  }
  entries.push(...(await moduleEntries(join(kernel.root, 'lib/modules', release, 'kernel'))));
  await writeFile(join(target, 'initrd'), await promisify(gzip)(cpioArchive(entries)));
  await writeFile(join(target, 'made-from'), `${kernel.title}\n${busybox.title}\n`);
}

const program = (path: string, bytes: Uint8Array): ArchiveEntry => ({ path, kind: 'file', bytes, executable: true });

async function moduleEntries(folder: string): Promise<ArchiveEntry[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ko'));
  const found = MODULES.flatMap((module) => files.find((name) => basename(name) === `${module}.ko`) ?? []);
  const entries: ArchiveEntry[] = [];
  for (const name of found) {
    const bytes = await readFile(join(folder, name));
    entries.push({ path: `modules/${basename(name)}`, kind: 'file', bytes, executable: false });
  }
  const order = found.map((name) => `${basename(name)}\n`).join('');
  return [...entries, { path: 'modules/order', kind: 'file', bytes: Buffer.from(order), executable: false }];
}
