// `coldiron assets build`: the images that are assembled here. Each is a folder of the library.

import { ColdironError } from '../domain/errors.ts';
import type { Gathered } from './build.ts';
import { CLOUD_IMAGE, placeCloudImage } from './cloud-image/build.ts';
import type { Placed } from './place-file.ts';
import { placeServiceOs } from './service-os/place.ts';
import { SERVICE_OS_NAMES } from './service-os/recipe.ts';

/** The Debian image is built only on request: not every site installs it, and the build needs root and several minutes. */
export const BUILT_IMAGES: readonly { readonly name: string; readonly always: boolean }[] = [
  ...SERVICE_OS_NAMES.map((name) => ({ name, always: true })),
  { name: CLOUD_IMAGE, always: false },
];

/** A profile's `image.source` and the command line may omit the leading `images/`. */
export const builtImageNamed = (text: string): string | null =>
  BUILT_IMAGES.find(({ name }) => name === text || name === `images/${text}`)?.name ?? null;

/** A failure of one image does not stop the others. */
export async function placeImages(
  folder: string,
  names: readonly string[],
  say: (line: string) => void,
): Promise<Gathered> {
  const placed: Placed[] = [];
  const failed: Gathered['failed'][number][] = [];
  for (const { name } of BUILT_IMAGES.filter((image) => names.includes(image.name))) {
    try {
      const files =
        name === CLOUD_IMAGE ? [await placeCloudImage(folder, { say })] : await placeServiceOs(folder, name, say);
      for (const file of files) say(`${file.name}: ${file.unchanged ? 'unchanged' : 'built'}, from ${file.from}`);
      placed.push(...files);
    } catch (error) {
      if (!(error instanceof ColdironError)) throw error;
      const reason = [error.message, ...error.details].join('; ');
      say(`${name}: cannot be built: ${reason}`);
      failed.push({ name, reason });
    }
  }
  return { placed, failed };
}
