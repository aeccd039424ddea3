import type { BootDevice } from '../bmc/bmc.ts';

/** Operators' words for what the drivers call otherwise. */
export const BOOT_WORDS = {
  pxe: 'network',
  http: 'http',
  disk: 'disk',
  cdrom: 'cdrom',
  bios: 'setup',
  none: 'none',
} as const satisfies Record<string, BootDevice>;
