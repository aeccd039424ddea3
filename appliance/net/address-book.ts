// Whose address is this? TFTP brings no name and no MAC, so the lease tells; where another server leases, the kernel's table
// of neighbours; and at last the inventory. It is a hint for the story and for which text to hand out, never a credential.

import { readFileSync } from 'node:fs';
import type { Ipv4 } from '../domain/ipv4.ts';
import { type Mac, parseMac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Fleet } from '../inventory/fleet.ts';

export class AddressBook {
  readonly #fleet: Fleet;
  readonly #leased: (address: Ipv4) => Mac | null;
  readonly #neighbours = new Neighbours();

  constructor(fleet: Fleet, leased: (address: Ipv4) => Mac | null) {
    this.#fleet = fleet;
    this.#leased = leased;
  }

  macOf(address: Ipv4): Mac | null {
    return this.#leased(address) ?? this.#neighbours.macOf(address) ?? this.#reserved(address);
  }

  /** Also of a removed one: its story goes on. */
  whoIs(address: Ipv4): { readonly mac: Mac | null; readonly machine: MachineId | null } {
    const mac = this.macOf(address);
    const machine = mac && (this.#fleet.machineByMac(mac) ?? this.#fleet.removedMachine(mac, null));
    return { mac, machine: machine?.id ?? null };
  }

  #reserved(address: Ipv4): Mac | null {
    const machine = this.#fleet.machineByAddress(address);
    return machine?.spec.interfaces.find((card) => card.address === address)?.mac ?? null;
  }
}

/** So long what the kernel said is believed; so long it is not asked again for an address that it did not know. */
const BELIEVED_MS = 1000;
const NOT_ASKED_AGAIN_MS = 50;

/** The kernel's table as it was a moment ago: with a thousand machines it takes longer to read than a request to answer. */
class Neighbours {
  #macs: ReadonlyMap<string, Mac> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;

  macOf(address: Ipv4): Mac | null {
    const age = performance.now() - this.#readAt;
    if (age > BELIEVED_MS || (age > NOT_ASKED_AGAIN_MS && !this.#macs.has(address))) {
      this.#macs = new Map(arpTable().flatMap(entryIn));
      this.#readAt = performance.now();
    }
    return this.#macs.get(address) ?? null;
  }
}

/** /proc/net/arp: address, hardware type, flags, hardware address …; flag 2 is a complete entry. */
function entryIn(line: string): [string, Mac][] {
  const [address = '', , flags, hardware = ''] = line.split(/\s+/);
  const mac = parseMac(hardware);
  return mac.ok && (Number(flags) & 2) !== 0 ? [[address, mac.value]] : [];
}

function arpTable(): string[] {
  try {
    return readFileSync('/proc/net/arp', 'utf8').split('\n');
  } catch {
    return []; // not Linux, or /proc is hidden: then the other two have to tell
  }
}
