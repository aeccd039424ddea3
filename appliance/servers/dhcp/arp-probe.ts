// Probes addresses on a directly attached network by ARP, without a raw socket: an empty datagram makes the kernel resolve the
// address, and the neighbour table shows whether a host answered.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { UdpPeer } from '../../net/udp/udp-socket.ts';
import type { AddressHolders, ProbeMethod } from './conflict-probe.ts';

/** RFC 863, the discard service: a listener ignores the datagram. */
const DISCARD_PORT = 9;
const NOTHING = new Uint8Array();

export class ArpProbe implements ProbeMethod {
  /** The kernel itself sends three ARP requests. */
  readonly isLossy = false;
  readonly #device: string;
  readonly #table: () => Promise<string>;
  readonly #send: (bytes: Uint8Array, to: UdpPeer) => void;

  constructor(device: string, table: () => Promise<string>, send: (bytes: Uint8Array, to: UdpPeer) => void) {
    this.#device = device;
    this.#table = table;
    this.#send = send;
  }

  probe(address: Ipv4): boolean {
    this.#send(NOTHING, { address, port: DISCARD_PORT });
    return true;
  }

  async holders(): Promise<AddressHolders> {
    return neighboursOn(this.#device, await this.#table());
  }

  forget(): void {}
}

/** Flag 2 of /proc/net/arp: the address was resolved, so a host answered. */
const RESOLVED = 0x2;

/** Address and hardware address of every neighbour that answered on this device. */
export function neighboursOn(device: string, table: string): Map<string, Mac> {
  const found = new Map<string, Mac>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , flags, hardware, , on] = line.split(/\s+/);
    if (address === undefined || hardware === undefined || on !== device) continue;
    if (Number(flags) & RESOLVED) found.set(address, hardware.toLowerCase() as Mac);
  }
  return found;
}
