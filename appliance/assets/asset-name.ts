// What boot files are called: loaders as firmware is told them (snponly.efi, arm64-efi/snponly.efi), a profile's own files
// below nixos/, images below images/. A name is the only thing that a request can choose a file by.

import { join } from 'node:path';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const LONGEST = 120;
const MOST_SEGMENTS = 6;

/** Folders of the library whose files a site puts there itself. */
export const SITE_FOLDERS = ['nixos', 'images'] as const;

export function parseAssetName(text: string): Parsed<string> {
  const segments = text.split('/');
  const sound = segments.every((segment) => SEGMENT.test(segment)) && segments.length <= MOST_SEGMENTS;
  if (!sound || text.length > LONGEST) {
    return unparsable(`not the name of a boot file (like arm64-efi/snponly.efi, at most ${LONGEST}): ${shown(text)}`);
  }
  return parsed(text);
}

export const isLoaderName = (name: string): boolean => !SITE_FOLDERS.some((folder) => name.startsWith(`${folder}/`));

/** As `image:` of a profile takes it: as it is, or packed. */
export const isDiskName = (name: string): boolean => /^images\/.*\.raw(?:\.gz|\.zst)?$/.test(name);

/** Where it lies in the library's folder. */
export const assetFile = (folder: string, name: string): string =>
  isLoaderName(name) ? join(folder, 'loader', name) : join(folder, name);

/** EDK2 goes by this type, or else by the end of the path. */
export const contentTypeOf = (name: string): string => {
  if (name.endsWith('.efi')) return 'application/efi';
  return name.endsWith('.ipxe') ? 'text/plain; charset=utf-8' : 'application/octet-stream';
};
