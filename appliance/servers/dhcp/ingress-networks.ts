// The networks that can be meant on one interface, as the fleet knows them now. Looked up for every packet, so that what was
// found is kept until the fleet holds other objects.

import { type Ingress, isDirect } from '../../boot/choose-network.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { Fleet } from '../../inventory/fleet.ts';

const MOST_KEPT = 1024;

export class IngressNetworks implements Ingress {
  readonly interface: string;
  readonly #fleet: Fleet;
  readonly #found = new Map<Ipv4, SiteNetwork>();
  #direct: SiteNetwork | null = null;

  constructor(fleet: Fleet, device: string) {
    this.#fleet = fleet;
    this.interface = device;
  }

  get direct(): SiteNetwork | null {
    if (this.#direct === null || !this.#isCurrent(this.#direct)) {
      const candidates = [...this.#fleet.networks()].filter((network) => network.interface === this.interface);
      this.#direct = candidates.find((network) => network.dhcp !== 'off' && isDirect(network)) ?? null;
    }
    return this.#direct;
  }

  readonly networkOf = (address: Ipv4): SiteNetwork | null => {
    const known = this.#found.get(address);
    if (known !== undefined && this.#isCurrent(known)) return known;
    const network = this.#fleet.networkOf(address);
    if (this.#found.size >= MOST_KEPT) this.#found.clear();
    if (network !== null) this.#found.set(address, network);
    return network;
  };

  /** A changed catalogue comes as new objects, all of them. */
  #isCurrent(network: SiteNetwork): boolean {
    return this.#fleet.network(network.name) === network;
  }
}
