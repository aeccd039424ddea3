// The image of a profile as its machines fetch it: from this appliance's library, or from the URL in the profile.

import type { Asset } from '../../assets/asset.ts';
import { imagePath } from '../../boot/boot-images.ts';
import { type BootServer, bootUrl } from '../../boot/boot-paths.ts';
import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { DiskImage } from '../../domain/system.ts';
import type { ServedImage } from './order.ts';

export type FindAsset = (name: string) => Asset | null;

const isUrl = (source: string): boolean => /^https?:\/\//.test(source);

/** The library's name of it; null: it is not in the library. */
export const libraryName = ({ source }: DiskImage): string | null =>
  isUrl(source) ? null : source.startsWith('images/') ? source : `images/${source}`;

export function servedImage(image: DiskImage, server: BootServer, find: FindAsset): Parsed<ServedImage> {
  const { sha256, format, source } = image;
  const name = libraryName(image);
  if (name === null) return parsed({ url: source, sha256, format, bytes: null, unpackedBytes: null });
  const problem = imageProblem(image, find);
  const asset = find(name);
  if (problem !== null || asset === null) return unparsable(problem ?? '');
  return parsed({
    url: bootUrl(server, imagePath(asset.name)),
    sha256,
    format,
    bytes: asset.size,
    unpackedBytes: asset.unpackedBytes ?? null,
  });
}

/** What is wrong with an image of the library; null: nothing, or it is served elsewhere. */
export function imageProblem(image: DiskImage, find: FindAsset): string | null {
  const { sha256, source } = image;
  const name = libraryName(image);
  if (name === null) return null;
  const asset = find(name);
  if (asset === null) return `its image ${shown(source)} is not in the library (${name})`;
  if (asset.sha256 === sha256) return null;
  return `its image ${shown(source)} has sha256 ${asset.sha256}, but the profile says ${sha256}`;
}
