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

  constructor(fleet: Fleet, leased: (address: Ipv4) => Mac | null) {
    this.#fleet = fleet;
    this.#leased = leased;
  }

  macOf(address: Ipv4): Mac | null {
    return this.#leased(address) ?? neighbour(address) ?? this.#reserved(address);
  }

  whoIs(address: Ipv4): { readonly mac: Mac | null; readonly machine: MachineId | null } {
    const mac = this.macOf(address);
    return { mac, machine: (mac && this.#fleet.machineByMac(mac)?.id) ?? null };
  }

  #reserved(address: Ipv4): Mac | null {
    const machine = this.#fleet.machineByAddress(address);
    return machine?.spec.interfaces.find((card) => card.address === address)?.mac ?? null;
  }
}

/** /proc/net/arp: address, hardware type, flags, hardware address …; flag 2 is a complete entry. */
function neighbour(address: Ipv4): Mac | null {
  const line = neighbours().find((text) => text.startsWith(`${address} `));
  const [, , flags, hardware] = line?.split(/\s+/) ?? [];
  if (hardware === undefined || (Number(flags) & 2) === 0) return null;
  const mac = parseMac(hardware);
  return mac.ok ? mac.value : null;
}

function neighbours(): string[] {
  try {
    return readFileSync('/proc/net/arp', 'utf8').split('\n');
  } catch {
    return []; // not Linux, or /proc is hidden: then the other two have to tell
  }
}
