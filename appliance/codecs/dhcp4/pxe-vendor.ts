// Option 43 of PXE clients (PXE 2.1, table 2-1): whether and where to discover boot servers, and the boot menu.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { readSubOptions, type SubOptions, writeSubOptions } from './sub-options.ts';

export const PXE_SUB_OPTION = {
  discoveryControl: 6,
  bootServers: 8,
  bootMenu: 9,
  menuPrompt: 10,
  bootItem: 71,
} as const;

/** Bit 3 of discovery control: the boot file is in this reply, so no prompt, no menu, no server discovery. */
const USE_BOOT_FILE = 0x08;

/**
 * 06 01 08 ff. Sent together with option 60 `PXEClient`: option 60 alone makes EDK2 query port 4011 for a boot server;
 * with this sub-option it fetches the named file at once.
 */
export const bootFileWithoutDiscovery = (): Uint8Array =>
  writePxeVendor(new Map([[PXE_SUB_OPTION.discoveryControl, Uint8Array.of(USE_BOOT_FILE)]]));

export const readPxeVendor = (value: Uint8Array): SubOptions => readSubOptions(value, 'with-pad-and-end');
export const writePxeVendor = (values: ReadonlyMap<number, Uint8Array>): Uint8Array =>
  writeSubOptions(values, 'with-pad-and-end');

interface BootItem {
  readonly type: number;
  readonly layer: number;
}

/** Sub-option 71: the boot server type and layer that a client requests on port 4011; the reply repeats it. */
export function readBootItem(value: Uint8Array): Parsed<BootItem> {
  if (value.length !== 4) return unparsable(`a PXE boot item needs 4 bytes, got ${value.length}`);
  const [typeHigh = 0, typeLow = 0, layerHigh = 0, layerLow = 0] = value;
  return parsed({ type: typeHigh * 256 + typeLow, layer: layerHigh * 256 + layerLow });
}
