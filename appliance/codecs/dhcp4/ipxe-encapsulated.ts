// Option 175, iPXE's encapsulated options: features of the build, its version, and the NIC. The presence of the option
// identifies iPXE reliably; the user class does not, because a script can replace it.

import { readSubOptions } from './sub-options.ts';

/** iPXE's features.h: sub-option code and feature name. */
const FEATURE_ROWS = [
  [0x10, 'pxe-ext'],
  [0x11, 'iscsi'],
  [0x12, 'aoe'],
  [0x13, 'http'],
  [0x14, 'https'],
  [0x15, 'tftp'],
  [0x16, 'ftp'],
  [0x17, 'dns'],
  [0x18, 'bzimage'],
  [0x19, 'multiboot'],
  [0x1a, 'slam'],
  [0x1b, 'srp'],
  [0x20, 'nbi'],
  [0x21, 'pxe'],
  [0x22, 'elf'],
  [0x23, 'comboot'],
  [0x24, 'efi'],
  [0x25, 'fcoe'],
  [0x26, 'vlan'],
  [0x27, 'menu'],
  [0x28, 'sdi'],
  [0x29, 'nfs'],
] as const;

const BUS_ID = 0xb1;
const VERSION = 0xeb;

type IpxeFeature = (typeof FEATURE_ROWS)[number][1];

const FEATURES: ReadonlyMap<number, IpxeFeature> = new Map(FEATURE_ROWS);

export interface IpxeEncapsulated {
  /** In wire order. A feature whose value is zero is absent. */
  readonly features: ReadonlySet<IpxeFeature>;
  /** major.minor.revision */
  readonly version: string | null;
  /** Bus type, vendor and device of the NIC that sent the request. */
  readonly busId: Uint8Array | null;
  readonly damage: string | null;
}

export function readIpxe(value: Uint8Array): IpxeEncapsulated {
  const { values, damage } = readSubOptions(value, 'with-pad-and-end');
  const features = new Set<IpxeFeature>();
  for (const [code, bytes] of values) {
    const feature = FEATURES.get(code);
    if (feature !== undefined && bytes.some((byte) => byte !== 0)) features.add(feature);
  }
  const version = values.get(VERSION);
  return {
    features,
    version: version?.length === 3 ? version.join('.') : null,
    busId: values.get(BUS_ID) ?? null,
    damage,
  };
}
