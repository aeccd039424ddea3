// Builds the service OS of each architecture and puts it into the library.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { assetFile } from '../asset-name.ts';
import { type Placed, placeFile } from '../place-file.ts';
import { authorityIn, setAuthority } from './authority.ts';
import { buildServiceOs } from './build.ts';
import { SERVICE_OS_BUILDS, serviceOsName } from './recipe.ts';

/** `name`: one of `SERVICE_OS_NAMES`. */
export async function placeServiceOs(
  folder: string,
  name: string,
  say: (line: string) => void,
): Promise<readonly Placed[]> {
  const variant = SERVICE_OS_BUILDS.find(({ cpu }) => serviceOsName(cpu) === name);
  if (!variant) throw new ColdironError('internal', `there is no service OS ${name}`);
  const scratch = await mkdtemp(join(tmpdir(), 'coldiron-service-os-'));
  try {
    const built = await buildServiceOs(scratch, { architecture: variant.architecture, say });
    // The appliance may be running: its machines must not get an initrd without its authorities, not even for a moment.
    const authority = await authorityIn(assetFile(folder, `${name}/initrd`)).catch(() => null);
    if (authority !== null) await setAuthority(built.initrd, authority);
    const placed: Placed[] = [];
    for (const part of ['kernel', 'initrd'] as const) {
      const entry = {
        name: `${name}/${part}`,
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
