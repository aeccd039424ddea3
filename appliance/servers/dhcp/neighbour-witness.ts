// Who answers on our own wire, asked by ARP without a raw socket: an empty datagram makes the kernel resolve the address, and
// its table of neighbours tells whether anybody answered.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { UdpPeer } from '../../net/udp/udp-socket.ts';
import type { Answering, Witness } from './conflict-probe.ts';

/** RFC 863, discard: whoever listens there wants nothing. */
const DISCARD_PORT = 9;
const NOTHING = new Uint8Array();

export class NeighbourWitness implements Witness {
  /** The kernel asks three times by itself. */
  readonly mayMiss = false;
  readonly #device: string;
  readonly #table: () => Promise<string>;
  readonly #send: (bytes: Uint8Array, to: UdpPeer) => void;

  constructor(device: string, table: () => Promise<string>, send: (bytes: Uint8Array, to: UdpPeer) => void) {
    this.#device = device;
    this.#table = table;
    this.#send = send;
  }

  ask(address: Ipv4): boolean {
    this.#send(NOTHING, { address, port: DISCARD_PORT });
    return true;
  }

  async answering(): Promise<Answering> {
    return neighboursOn(this.#device, await this.#table());
  }

  forget(): void {}
}

/** Flag 2 of /proc/net/arp: the address was resolved, so somebody answered. */
const RESOLVED = 0x2;

/** Address and hardware address of everybody who answers on this device. */
export function neighboursOn(device: string, table: string): Map<string, Mac> {
  const found = new Map<string, Mac>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , flags, hardware, , on] = line.split(/\s+/);
    if (address === undefined || hardware === undefined || on !== device) continue;
    if (Number(flags) & RESOLVED) found.set(address, hardware.toLowerCase() as Mac);
  }
  return found;
}
