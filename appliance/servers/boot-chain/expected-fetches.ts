// Lists everything advertised: what to fetch from the real servers and what to expect. Texts of a single machine are left out:
// fetching one would consume what is armed for that machine.

import type { AdvertisedImage } from '../../assets/advertised-images.ts';
import type { Asset } from '../../assets/asset.ts';
import { isLoaderName } from '../../assets/asset-name.ts';
import { imagePath } from '../../boot/boot-images.ts';
import { ENTRY_SCRIPT_PATH, loaderPath, MENU_SCRIPT_PATH } from '../../boot/boot-paths.ts';

/** An address that machines fetch from. */
export interface BootEndpoint {
  readonly address: string;
  readonly port: number;
  /** The appliance's address in texts served there; null: on no declared network, where TFTP serves no texts. */
  readonly server: string | null;
}

export type Expectation =
  | { readonly kind: 'whole'; readonly asset: Asset }
  /** Too large to fetch for a check: compares size, first bytes, type and architecture. */
  | { readonly kind: 'beginning'; readonly asset: Asset }
  | { readonly kind: 'text'; readonly begins: string; readonly names: string };

export interface ExpectedFetch {
  readonly via: 'http' | 'tftp';
  readonly at: BootEndpoint;
  /** An HTTP path, or a TFTP file name. */
  readonly path: string;
  readonly expect: Expectation;
}

export interface BootEndpoints {
  readonly http: readonly BootEndpoint[];
  readonly tftp: readonly BootEndpoint[];
}

/** `images`: what machines may start; over HTTP everything in the library is checked, advertised or not. */
export function expectedFetches(
  assets: readonly Asset[],
  images: readonly AdvertisedImage[],
  endpoints: BootEndpoints,
): readonly ExpectedFetch[] {
  const throughGrub = new Set(images.filter((image) => image.throughGrub).map(({ name }) => name));
  return [
    ...endpoints.http.flatMap((at, index) => [
      ...textsOverHttp(at),
      // One server answers at all its addresses, with the same files.
      ...(index === 0 ? assets.map((asset) => fileOverHttp(at, asset)) : []),
    ]),
    ...endpoints.tftp.flatMap((at) => [
      ...textsOverTftp(at),
      ...assets.flatMap((asset) => fileOverTftp(at, asset, throughGrub)),
    ]),
  ];
}

function textsOverHttp(at: BootEndpoint): ExpectedFetch[] {
  const names = `http://${at.server ?? at.address}:${at.port}/boot/`;
  return [ENTRY_SCRIPT_PATH, MENU_SCRIPT_PATH].map((path) => ({
    via: 'http',
    at,
    path,
    expect: { kind: 'text', begins: '#!ipxe\n', names },
  }));
}

function textsOverTftp(at: BootEndpoint): ExpectedFetch[] {
  const { server } = at;
  if (server === null) return [];
  const text = (path: string, begins: string, names: string): ExpectedFetch => ({
    via: 'tftp',
    at,
    path,
    expect: { kind: 'text', begins, names },
  });
  return [text('grub/grub.cfg', '', `(tftp,${server})`), text('autoexec.ipxe', '#!ipxe\n', `http://${server}:`)];
}

const fileOverHttp = (at: BootEndpoint, asset: Asset): ExpectedFetch => ({
  via: 'http',
  at,
  ...(isLoaderName(asset.name)
    ? { path: loaderPath(asset.name), expect: { kind: 'whole', asset } }
    : { path: imagePath(asset.name), expect: { kind: 'beginning', asset } }),
});

function fileOverTftp(at: BootEndpoint, asset: Asset, throughGrub: ReadonlySet<string>): ExpectedFetch[] {
  const { name } = asset;
  if (isLoaderName(name)) return [{ via: 'tftp', at, path: name, expect: { kind: 'whole', asset } }];
  // GRUB requests /boot/…, and the first slash is not part of a name.
  return throughGrub.has(name)
    ? [{ via: 'tftp', at, path: imagePath(name).slice(1), expect: { kind: 'beginning', asset } }]
    : [];
}
