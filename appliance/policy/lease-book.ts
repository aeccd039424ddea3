// All networks' leases in memory. The store is the truth; this is what an answer can be found in without waiting.

import type { Lease } from '../domain/lease.ts';
import type { ObjectName } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { NetworkLeases } from './network-leases.ts';

export class LeaseBook {
  readonly #networks = new Map<ObjectName, { leases: NetworkLeases; pools: SiteNetwork['pools'] | null }>();

  constructor(stored: readonly Lease[] = []) {
    // In the order in which they were granted, so that a client's newest lease is the one that counts.
    for (const lease of stored.toSorted((a, b) => a.grantedAt - b.grantedAt)) {
      this.#of(lease.network).leases.record(lease, false);
    }
  }

  of({ name, pools }: Pick<SiteNetwork, 'name' | 'pools'>): NetworkLeases {
    const known = this.#of(name);
    if (known.pools !== pools) {
      known.leases.usePools(pools);
      known.pools = pools;
    }
    return known.leases;
  }

  #of(name: ObjectName): { leases: NetworkLeases; pools: SiteNetwork['pools'] | null } {
    const known = this.#networks.get(name);
    if (known !== undefined) return known;
    const made = { leases: new NetworkLeases(), pools: null };
    this.#networks.set(name, made);
    return made;
  }
}
