// Names of boot files: loaders as DHCP advertises them to firmware (snponly.efi, arm64-efi/snponly.efi), a profile's files
// below nixos/, images below images/. A request can select a file only by its name.

import { join } from 'node:path';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const MAX_LENGTH = 120;
const MAX_SEGMENTS = 6;

/** Folders of the library that the site fills itself. */
export const SITE_FOLDERS = ['nixos', 'images'] as const;

export function parseAssetName(text: string): Parsed<string> {
  const segments = text.split('/');
  const isValid = segments.every((segment) => SEGMENT.test(segment)) && segments.length <= MAX_SEGMENTS;
  if (!isValid || text.length > MAX_LENGTH) {
    return unparsable(
      `not the name of a boot file (like arm64-efi/snponly.efi, at most ${MAX_LENGTH}): ${shown(text)}`,
    );
  }
  return parsed(text);
}

export const isLoaderName = (name: string): boolean => !SITE_FOLDERS.some((folder) => name.startsWith(`${folder}/`));

/** Disk images as `image:` of a profile accepts them: raw, or compressed. */
export const isDiskName = (name: string): boolean => /^images\/.*\.raw(?:\.gz|\.zst)?$/.test(name);

/** Path of the file in the library's folder. */
export const assetFile = (folder: string, name: string): string =>
  isLoaderName(name) ? join(folder, 'loader', name) : join(folder, name);

/** EDK2 uses this content type, or the extension of the path when there is none. */
export const contentTypeOf = (name: string): string => {
  if (name.endsWith('.efi')) return 'application/efi';
  return name.endsWith('.ipxe') ? 'text/plain; charset=utf-8' : 'application/octet-stream';
};
