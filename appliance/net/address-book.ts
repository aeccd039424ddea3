// Maps an IPv4 address to a MAC address. TFTP requests carry no name and no MAC, so the sources are the lease, then (where
// another server leases) the kernel's neighbour table, then the inventory. The result is a hint for texts and events, no credential.

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

  /** What the kernel knows of its own wires at this moment; null: behind a router, or not known. */
  neighbourOf(address: Ipv4): Mac | null {
    // Not from the cache: within a second another card can answer for the address.
    return this.#neighbours.macNow(address);
  }

  /** Includes removed machines, whose events are still recorded. */
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

/** How long an entry of the kernel is valid, and how long an unknown address is not looked up again. */
const VALID_MS = 1000;
const NOT_LOOKED_UP_AGAIN_MS = 50;

/** A cache of the kernel's table: with a thousand machines, reading it takes longer than answering a request. */
class Neighbours {
  #macs: ReadonlyMap<string, Mac> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;

  macOf(address: Ipv4): Mac | null {
    const age = performance.now() - this.#readAt;
    if (age > VALID_MS || (age > NOT_LOOKED_UP_AGAIN_MS && !this.#macs.has(address))) {
      this.#macs = new Map(arpTable().flatMap(entryIn));
      this.#readAt = performance.now();
    }
    return this.#macs.get(address) ?? null;
  }

  macNow(address: Ipv4): Mac | null {
    const [entry] = arpTable()
      .filter((line) => line.startsWith(`${address} `))
      .flatMap(entryIn);
    return entry?.[1] ?? null;
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
    return []; // not Linux, or /proc is hidden: the lease and the inventory remain
  }
}
