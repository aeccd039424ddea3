// SeaBIOS has no PXE stack of its own: it always boots the card's ROM, which is iPXE in QEMU. To simulate a machine with a
// vendor's ROM, the two options that identify iPXE are renamed on their way to the bridge.

import type { RackNetwork } from './network.ts';

/**
 * Offsets in the packets of QEMU's own ROM, in bits from the start of the UDP header: the BOOTP flags, and the codes of
 * options 77 (user class) and 175 (iPXE). The ROM leaves the broadcast flag clear and undionly.kpxe sets it, so only the
 * stage is disguised.
 */
const FLAGS = '@th,144,16';
const USER_CLASS = '@th,2384,8';
const IPXE_OPTIONS = '@th,2632,8';

export async function disguiseIpxeRom(network: RackNetwork, tap: string): Promise<void> {
  const rule = [
    `iifname "${tap}" udp dport 67 ${FLAGS} 0x0000 ${USER_CLASS} 77 ${IPXE_OPTIONS} 175`,
    // Codes for private use (RFC 3942 §2), which no server evaluates; checksum 0 means "none" (RFC 768).
    `${USER_CLASS} set 224 ${IPXE_OPTIONS} set 225 udp checksum set 0`,
  ].join(' ');
  const chain = `type filter hook prerouting priority 0; policy accept; ${rule}`;
  await network.run('nft', `table bridge disguise_${tap} { chain from_machine { ${chain}; }; }`);
}
