// The identity of a chassis: the SMBIOS UUID that its firmware reports.

import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

export type ChassisUuid = Branded<string, 'ChassisUuid'>;

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** UUIDs that whole product lines share: they identify no chassis. */
const CONSTANTS = new Map([
  ['00000000-0000-0000-0000-000000000000', 'the firmware reports no UUID (all zero)'],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'the firmware reports no UUID (all ones)'],
  ['44444444-4444-4444-4444-444444444444', 'the Raspberry Pi boot ROM sends this constant'],
  ['03000200-0400-0500-0006-000700080009', 'an AMI default that many boards share'],
  ['12345678-1234-5678-90ab-cddeefaabbcc', 'a board vendor default that many boards share'],
]);

export function parseChassisUuid(text: string): Parsed<ChassisUuid> {
  const lower = text.trim().toLowerCase();
  if (!FORM.test(lower)) return unparsable(`not a UUID: ${shown(text)}`);
  const constant = CONSTANTS.get(lower);
  if (constant) return unparsable(`not an identity: ${lower}: ${constant}`);
  return parsed(lower as ChassisUuid);
}

/**
 * DHCP option 97 (RFC 4578 §2.3): a type byte 0, then 16 bytes in EFI order, where the first three fields are
 * little-endian. SMBIOS tools and iPXE's ${uuid} print the other order, which is used here.
 */
export function chassisUuidFromOption97(value: Uint8Array): Parsed<ChassisUuid> {
  if (value.length !== 17) return unparsable(`option 97 has 17 bytes, this has ${value.length}`);
  if (value[0] !== 0) return unparsable(`option 97 of an unknown type: ${value[0]}`);
  const order = [4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16];
  const hex = order.map((at) => (value[at] ?? 0).toString(16).padStart(2, '0')).join('');
  return parseChassisUuid(
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
  );
}
