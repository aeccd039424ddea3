// Every reason that an address is given, refused or not spoken of. Plain words: the trail and the log name who and where.

export const LEASE_BECAUSE = {
  reservation: 'the inventory reserves this address for it',
  'current-lease': 'it holds this address already',
  'open-offer': 'this address was offered to it a moment ago',
  'previous-lease': 'it had this address before, and nobody has it now',
  'address-asked-for': 'it asks for this address of the pool, and nobody has it',
  pool: 'this address of the pool is free',

  selected: 'it takes the address that it was offered',
  rebooted: 'it comes back with an address that it may keep',
  renewed: 'it holds this address and goes on with it',
  adopted: 'no lease of it is known, but the address is free and in the pool',
  repeated: 'the same request again: it gets the same answer',
  informed: 'it has an address and only asks for settings',

  'wrong-network': 'the address it asks for does not belong to this network',
  'other-address-reserved': 'the inventory reserves another address for it',
  'reserved-for-another': 'the address it asks for is reserved for another machine',
  'held-by-another': 'another client holds the address it asks for',
  'not-in-pool': 'the address it asks for is in no pool and not reserved for it',
  'of-the-network': 'the address it asks for is that of the server or of the gateway',
  'other-address-held': 'it holds another address than the one it asks for',

  'dhcp-off': 'DHCP is off on this network',
  'no-network': 'no declared network fits where this came from',
  'other-interface': 'the network that it names is served on another interface',
  'no-server-address': 'the network names no address of this appliance',
  'not-ethernet': 'it has no Ethernet address, and leases go by that',
  malformed: 'it says neither which server nor which address it means',
  'pool-exhausted': 'every address of the pools is taken',
  'no-pool': 'the network has no pool, and the inventory reserves no address for it',
  'other-server-chosen': 'it took the offer of another server',
  'answer-under-way': 'the same request came a moment ago, and its answer is being written to disk',
  'probe-under-way': 'its address is being checked for a stranger who uses it',
  'for-another-server': 'it is meant for another server',
  'not-a-client': 'only servers send this',
  'not-its-address': 'it gives back an address that it does not hold',
  'declines-too-often': 'it finds every address taken: look at its switch (ARP probes) or at the machine itself',
  'address-found-taken': 'it found somebody else on the address, which rests for a while',
  released: 'it gives the address back',

  'proxy-offer': 'another server gives the address, we say what to boot',
  'boot-server': 'it asks the boot server what to fetch',
  'proxy-without-lease': 'another server gives the addresses here',
  'nothing-to-boot': 'there is nothing for it to boot',
  'not-a-boot-client': 'it does not boot from the network, and another server gives the addresses here',
} as const;

export type LeaseReason = keyof typeof LEASE_BECAUSE;
