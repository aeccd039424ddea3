// Where a request comes from, according to leases, the neighbour table and the inventory.

import type { Ipv4 } from '../domain/ipv4.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { AddressBook } from '../net/address-book.ts';
import type { SeenAt } from '../provisioning/sessions/openers.ts';

/** On a network where we are the authoritative DHCP server, an address without a lease was not assigned to any client. */
export function seenAt(
  address: Ipv4 | null,
  addresses: Pick<AddressBook, 'macOf' | 'neighbourOf'>,
  fleet: Pick<Fleet, 'networkOf'>,
): SeenAt {
  if (address === null) return { address, mac: null, neighbour: null, wouldBeKnown: false };
  const network = fleet.networkOf(address);
  return {
    address,
    mac: addresses.macOf(address),
    neighbour: addresses.neighbourOf(address),
    wouldBeKnown: network?.dhcp === 'authoritative',
  };
}
