// Prerequisites of the demonstration: Debian packages, boot files, a disk image, and a folder of its own.

import { access, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildAssets } from '../../assets/build.ts';
import { placeImages } from '../../assets/built-images.ts';
import { CLOUD_IMAGE, CLOUD_IMAGE_NAME, CLOUD_IMAGE_PACKAGES } from '../../assets/cloud-image/build.ts';
import { AssetLibrary } from '../../assets/library.ts';
import { readManifests } from '../../assets/manifest.ts';
import { ColdironError } from '../../domain/errors.ts';
import { FULL_RACK_PACKAGES, installPackages, missingPackages } from '../rack/packages.ts';

type Say = (line: string) => void;

export function mustBeRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new ColdironError('forbidden', 'without a coldiron.yaml, npm start runs a virtual rack, which needs root', [
    'root creates a network namespace with taps, runs QEMU there, and installs missing Debian packages',
    'run it as root, in a container or a virtual machine if you like: nothing outside its namespace is changed',
    'or write a coldiron.yaml (appliance/lab/rack/example-site.yaml is an example): npm start then serves that site',
  ]);
}

export async function needDemoPackages(say: Say): Promise<void> {
  const missing = await missingPackages([...FULL_RACK_PACKAGES, ...CLOUD_IMAGE_PACKAGES]);
  if (missing.length === 0) say('all packages are installed');
  await installPackages(missing, say);
}

/** The loaders for the rack's firmware kinds. */
const LOADERS = ['undionly.kpxe', 'ipxe.efi', 'snponly.efi'];
const SERVICE_OS = 'images/service-os-x86_64';

/** Returns the sha256 of the image. Images are built once and then taken from a cache. */
export async function gatherBootFiles(state: string, say: Say): Promise<string> {
  const folder = join(state, 'assets');
  const entries = (await readManifests(null)).filter(({ name }) => LOADERS.includes(name));
  const loaders = await buildAssets(folder, entries, say);
  const images = await placeImages(folder, [SERVICE_OS, CLOUD_IMAGE], say);
  const image = images.placed.find(({ name }) => name === CLOUD_IMAGE_NAME);
  const failed = [...loaders.failed, ...images.failed];
  if (failed.length > 0 || !image) {
    const reasons = failed.map(({ name, reason }) => `${name}: ${reason}`);
    throw new ColdironError('service_unavailable', 'boot files could not be built', reasons);
  }
  // Computes checksums now, so that they do not delay the start of the appliance.
  await AssetLibrary.open(folder);
  return image.sha256;
}

/** Marks a folder as the demonstration's; such a folder may be emptied. */
const MARK = 'demonstration';

/** Keeps boot files and deletes everything else of an earlier demonstration. `conflict`: the folder belongs to another appliance. */
export async function freshState(state: string): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 });
  const names = await readdir(state);
  const isOurs = await access(join(state, MARK)).then(
    () => true,
    () => false,
  );
  if (!isOurs && names.includes('coldiron.db')) {
    throw new ColdironError('conflict', `${state} holds the state of another appliance`, [
      'move it away, or create the coldiron.yaml that it belongs to',
    ]);
  }
  await clearState(state);
  await writeFile(join(state, MARK), 'npm start empties this folder when it starts and when it stops.\n');
}

export async function clearState(state: string): Promise<void> {
  for (const name of await readdir(state)) {
    if (name !== 'assets') await rm(join(state, name), { recursive: true, force: true });
  }
}
