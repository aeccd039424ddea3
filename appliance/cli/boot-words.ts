import type { BootDevice } from '../bmc/bmc.ts';

/** The device names of the command line, and the names that the BMC drivers use. */
export const BOOT_WORDS = {
  pxe: 'network',
  http: 'http',
  disk: 'disk',
  cdrom: 'cdrom',
  bios: 'setup',
  none: 'none',
} as const satisfies Record<string, BootDevice>;
