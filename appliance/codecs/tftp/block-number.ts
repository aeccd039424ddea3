// 16-bit block numbers for files of any length. A transfer counts its blocks from 1 without limit; only the number on the
// wire wraps. RFC 1350 does not define what follows 65535: EDK2, iPXE, U-Boot and GRUB continue with 0, some old ROMs with 1.

export type RolloverTo = 0 | 1;

export const wireBlock = (count: number, rolloverTo: RolloverTo): number =>
  rolloverTo === 0 || count === 0 ? count & 0xffff : ((count - 1) % 0xffff) + 1;

/** The block that the number in an ACK refers to: the first one at or after `from` with this number. */
export function blockFromWire(wire: number, from: number, rolloverTo: RolloverTo): number {
  if (rolloverTo === 0) return from + ((wire - from) & 0xffff);
  // When 1 follows 65535, only the ACK of an OACK has number 0.
  if (wire === 0) return 0;
  const ahead = (wire - wireBlock(from, rolloverTo)) % 0xffff;
  return from + (ahead < 0 ? ahead + 0xffff : ahead);
}
