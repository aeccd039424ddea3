// Where a request comes from, as far as leases, neighbours and the inventory tell.

import type { Ipv4 } from '../domain/ipv4.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { AddressBook } from '../net/address-book.ts';
import type { SeenAt } from '../work/sessions/openers.ts';

/** Where we alone give out addresses, one that we know nothing of was given to nobody. */
export function seenAt(
  address: Ipv4 | null,
  addresses: Pick<AddressBook, 'macOf'>,
  fleet: Pick<Fleet, 'networkOf'>,
): SeenAt {
  if (address === null) return { address, mac: null, wouldBeKnown: false };
  const network = fleet.networkOf(address);
  return { address, mac: addresses.macOf(address), wouldBeKnown: network?.dhcp === 'authoritative' };
}
