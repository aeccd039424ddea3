// `coldiron assets build`: the service OS of each architecture, built and put into the library.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CpuArchitecture } from '../../domain/architecture.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Gathered } from '../build.ts';
import { type Placed, placeFile } from '../place-file.ts';
import { buildServiceOs } from './build.ts';
import type { ServiceOsArchitecture } from './recipe.ts';

interface Variant {
  /** A folder of the library; boot scripts name its files. */
  readonly name: string;
  readonly cpu: CpuArchitecture;
  readonly architecture: ServiceOsArchitecture;
}

const VARIANTS: readonly Variant[] = [
  { name: 'images/service-os-x86_64', cpu: 'x86_64', architecture: 'amd64' },
  { name: 'images/service-os-arm64', cpu: 'arm64', architecture: 'arm64' },
];

export const SERVICE_OS_NAMES: readonly string[] = VARIANTS.map(({ name }) => name);

/** One that cannot be built does not keep the other from it. */
export async function placeServiceOs(
  folder: string,
  names: readonly string[],
  say: (line: string) => void,
): Promise<Gathered> {
  const placed: Placed[] = [];
  const failed: Gathered['failed'][number][] = [];
  for (const variant of VARIANTS.filter(({ name }) => names.includes(name))) {
    try {
      placed.push(...(await placeOne(folder, variant, say)));
    } catch (error) {
      if (!(error instanceof ColdironError)) throw error;
      say(`${variant.name}: cannot be built: ${error.message}`);
      failed.push({ name: variant.name, reason: error.message });
    }
  }
  return { placed, failed };
}

async function placeOne(folder: string, variant: Variant, say: (line: string) => void): Promise<readonly Placed[]> {
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
      const done = await placeFile(folder, entry, built.title, built[part]);
      say(`${entry.name}: ${done.unchanged ? 'unchanged' : 'built'}, from ${built.title}`);
      placed.push(done);
    }
    return placed;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
