// The paths and URLs of boot files: one definition for DHCP replies, scripts, the file servers and `explain`.

import type { Ipv4 } from '../domain/ipv4.ts';
import { type Mac, macWithHyphens } from '../domain/mac.ts';

/** This appliance as a booting machine reaches it. */
export interface BootServer {
  readonly address: Ipv4;
  readonly bootPort: number;
}

/** The script that every iPXE gets first; it chains to the machine's own. */
export const ENTRY_SCRIPT_PATH = '/boot/ipxe/boot.ipxe';

/** For an operator at the console: actions that need no armed intent. */
export const MENU_SCRIPT_PATH = '/boot/ipxe/menu.ipxe';

/** Where a script reports an error, with iPXE's error number. */
export const REPORT_PATH = '/boot/report';

/** Below it: a ticket, usable once, then the requests and reports of its session. */
export const SESSION_PATH = '/boot/session/';

/** Below it: the media that BMCs fetch, each by an unguessable name. */
export const MEDIUM_PATH = '/boot/medium/';

/** Some BMCs accept only names with this ending. */
const MEDIUM_ENDING = '.iso';

export const mediumPath = (name: string): string => `${MEDIUM_PATH}${name}${MEDIUM_ENDING}`;

/** The unguessable name in the path of a medium; null: it is another path. */
export const mediumNameIn = (path: string): string | null =>
  /^\/boot\/medium\/([A-Za-z0-9_-]{43})\.iso$/.exec(path)?.[1] ?? null;

export const machineScriptPath = (mac: Mac): string => `/boot/ipxe/${macWithHyphens(mac)}.ipxe`;

export const loaderPath = (file: string): string => `/boot/loader/${file}`;

/** An IP address, never a host name: EDK2 ignores an offered URL with a host name unless the same offer has a DNS server. */
export const bootUrl = (server: BootServer, path: string): string =>
  `http://${server.address}:${server.bootPort}${path}`;

/** Session traffic goes to the node API, whose certificate the started image can verify. */
export const sessionUrl = (server: BootServer, nodePort: number, path: string): string =>
  `https://${server.address}:${nodePort}${path}`;

/** The library's name of a path below /boot/: /boot/<image>/… are images; nixos/ and the loaders have names of their own. */
export function assetOfBootPath(belowBoot: string): string | null {
  const [folder, ...rest] = belowBoot.split('/');
  if (folder === undefined || folder === '' || rest.length === 0) return null;
  if (folder === 'loader') return rest.join('/');
  return folder === 'nixos' ? belowBoot : `images/${belowBoot}`;
}
