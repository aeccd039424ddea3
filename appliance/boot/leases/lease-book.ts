// The leases of all networks in memory. The store is authoritative; this copy lets a reply be decided without waiting.

import { contains } from '../../domain/ipv4.ts';
import type { Lease } from '../../domain/lease.ts';
import type { ObjectName } from '../../domain/names.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { NetworkLeases } from './network-leases.ts';

export class LeaseBook {
  readonly #networks = new Map<ObjectName, { leases: NetworkLeases; pools: SiteNetwork['pools'] | null }>();

  constructor(stored: readonly Lease[] = []) {
    // In the order in which they were granted, so that a client's newest lease counts.
    for (const lease of stored.toSorted((a, b) => a.grantedAt - b.grantedAt)) {
      this.#of(lease.network).leases.record(lease);
    }
  }

  of({ name, pools, prefix }: Pick<SiteNetwork, 'name' | 'pools' | 'prefix'>): NetworkLeases {
    const known = this.#of(name);
    // A changed network arrives as a new object.
    if (known.pools !== pools) {
      this.#takeOver(name, prefix);
      known.leases.usePools(pools);
      known.pools = pools;
    }
    return known.leases;
  }

  /** Networks are renamed, and ranges move between them. A client keeps its address, whatever the network is called. */
  #takeOver(name: ObjectName, prefix: SiteNetwork['prefix']): void {
    const { leases } = this.#of(name);
    const elsewhere = [...this.#networks].filter(([other]) => other !== name);
    const here = elsewhere.flatMap(([, other]) =>
      [...other.leases.leases()].filter(({ address }) => contains(prefix, address)),
    );
    for (const lease of here.toSorted((a, b) => a.grantedAt - b.grantedAt)) {
      const known = leases.leaseAt(lease.address);
      if (known === null || known.grantedAt < lease.grantedAt) leases.record({ ...lease, network: name });
    }
  }

  #of(name: ObjectName): { leases: NetworkLeases; pools: SiteNetwork['pools'] | null } {
    const known = this.#networks.get(name);
    if (known !== undefined) return known;
    const made = { leases: new NetworkLeases(), pools: null };
    this.#networks.set(name, made);
    return made;
  }
}
