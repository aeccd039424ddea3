// Builds the service OS of each architecture and puts it into the library.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { type Placed, placeFile } from '../place-file.ts';
import { buildServiceOs } from './build.ts';
import { SERVICE_OS_BUILDS } from './recipe.ts';

/** `name`: a folder of the library; boot scripts refer to its files. */
const VARIANTS = SERVICE_OS_BUILDS.map((build) => ({ ...build, name: `images/service-os-${build.cpu}` }));

export const SERVICE_OS_NAMES: readonly string[] = VARIANTS.map(({ name }) => name);

/** `name`: one of `SERVICE_OS_NAMES`. */
export async function placeServiceOs(
  folder: string,
  name: string,
  say: (line: string) => void,
): Promise<readonly Placed[]> {
  const variant = VARIANTS.find((known) => known.name === name);
  if (!variant) throw new ColdironError('internal', `there is no service OS ${name}`);
  const scratch = await mkdtemp(join(tmpdir(), 'coldiron-service-os-'));
  try {
    const built = await buildServiceOs(scratch, { architecture: variant.architecture, say });
    const placed: Placed[] = [];
    for (const part of ['kernel', 'initrd'] as const) {
      const entry = {
        name: `${variant.name}/${part}`,
        firmware: null,
        architecture: variant.cpu,
        licence: null,
        source: {
          kind: 'debian',
          package: `linux-image-${variant.architecture}`,
          architecture: variant.architecture,
          path: '/',
        },
      } as const;
      placed.push(await placeFile(folder, entry, { title: built.title }, built[part]));
    }
    return placed;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
