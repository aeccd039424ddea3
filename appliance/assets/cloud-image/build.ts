// A Debian image for virtual machines, built from packages by boot-assets/cloud-image/build.sh and cached by the hash of that
// script.

import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { buildCache, buildOnce, openBuildCache, publish } from '../build-cache.ts';
import { installedPackage, runTool } from '../debian-packages.ts';
import { makeFolders, type Placed, placeFile } from '../place-file.ts';

/** Its name in the library: the folder, and the file. */
export const CLOUD_IMAGE = 'images/debian-12';
export const CLOUD_IMAGE_NAME = `${CLOUD_IMAGE}/disk.raw.zst`;

/** Debian packages that the build needs. */
export const CLOUD_IMAGE_PACKAGES: readonly string[] = [
  ...['fdisk', 'grub-common', 'grub-efi-amd64-bin', 'grub-pc-bin', 'mmdebstrap', 'mtools', 'zstd'],
];

const SCRIPT = join(import.meta.dirname, '../../../boot-assets/cloud-image/build.sh');
const FILE = 'disk.raw.zst';

export interface CloudImageOptions {
  /** Folder that keeps finished images for later runs. */
  readonly cache?: string;
  readonly say?: (line: string) => void;
}

/** `folder`: the library's. Building an image that is not in the cache needs root and `CLOUD_IMAGE_PACKAGES`. */
export async function placeCloudImage(folder: string, options: CloudImageOptions = {}): Promise<Placed> {
  const { cache = buildCache('cloud-image'), say = () => {} } = options;
  await openBuildCache(cache);
  const key = createHash('sha256')
    .update(await readFile(SCRIPT))
    .digest('hex')
    .slice(0, 16);
  const place = join(cache, key);
  await buildOnce(place, () => build(cache, place, say));
  await makeFolders(folder, folder);
  const entry = {
    name: CLOUD_IMAGE_NAME,
    firmware: null,
    architecture: 'x86_64',
    licence: null,
    source: { kind: 'debian', package: 'linux-image-cloud-amd64', architecture: 'amd64', path: '/' },
  } as const;
  return await placeFile(folder, entry, { title: 'Debian 12 packages' }, join(place, FILE));
}

async function build(cache: string, place: string, say: (line: string) => void): Promise<void> {
  await mustBePossible();
  const scratch = await mkdtemp(join(cache, '.build-'));
  try {
    // The build runs programs in it as other users for a moment.
    await chmod(scratch, 0o755);
    say('building the Debian image, which takes a few minutes the first time');
    await runTool('sh', [SCRIPT, scratch]);
    for (const name of ['root', 'root.ext4', 'esp', 'core', 'grub.efi', 'early.cfg']) {
      await rm(join(scratch, name), { recursive: true, force: true });
    }
    await publish(scratch, place);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Reports everything that is missing at once; the build itself would fail only after minutes. */
async function mustBePossible(): Promise<void> {
  const missing: string[] = [];
  for (const name of CLOUD_IMAGE_PACKAGES) {
    if ((await installedPackage({ package: name, architecture: null })) === null) missing.push(name);
  }
  const problems = [
    ...(process.getuid?.() === 0 ? [] : ['the build sets file owners, which needs root: run it as root']),
    ...(missing.length === 0 ? [] : [`Debian packages are missing: apt-get install ${missing.join(' ')}`]),
  ];
  if (problems.length > 0)
    throw new ColdironError('service_unavailable', 'the Debian image cannot be built here', problems);
}
