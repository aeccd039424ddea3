// The networks reachable through one interface, according to the current fleet. Every packet needs the lookup, so results
// are cached until the fleet replaces its network objects.

import { type Ingress, isDirect } from '../../boot/choose-network.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { Fleet } from '../../inventory/fleet.ts';

const MAX_CACHED = 1024;

export class IngressNetworks implements Ingress {
  readonly interface: string;
  readonly #fleet: Fleet;
  readonly #cache = new Map<Ipv4, SiteNetwork>();
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
    const known = this.#cache.get(address);
    if (known !== undefined && this.#isCurrent(known)) return known;
    const network = this.#fleet.networkOf(address);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    if (network !== null) this.#cache.set(address, network);
    return network;
  };

  /** A changed catalogue replaces all network objects. */
  #isCurrent(network: SiteNetwork): boolean {
    return this.#fleet.network(network.name) === network;
  }
}
