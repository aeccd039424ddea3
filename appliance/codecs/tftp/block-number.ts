// Sixteen bits of block number for files of any length. A transfer counts its blocks from 1 without end; only the wire
// wraps. RFC 1350 does not say what follows 65535: EDK2, iPXE, U-Boot and GRUB go on with 0, some old ROMs with 1.

export type RolloverTo = 0 | 1;

export const wireBlock = (count: number, rolloverTo: RolloverTo): number =>
  rolloverTo === 0 || count === 0 ? count & 0xffff : ((count - 1) % 0xffff) + 1;

/** The block that an ACK's number means: the first at or after `from` that has it on the wire. */
export function blockFromWire(wire: number, from: number, rolloverTo: RolloverTo): number {
  if (rolloverTo === 0) return from + ((wire - from) & 0xffff);
  // Where 1 follows 65535, only the answer to an OACK has the number 0.
  if (wire === 0) return 0;
  const ahead = (wire - wireBlock(from, rolloverTo)) % 0xffff;
  return from + (ahead < 0 ? ahead + 0xffff : ahead);
}
