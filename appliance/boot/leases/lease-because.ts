// Every reason to assign or refuse an address, or to send no reply. The trail and the log add who and where.

export const LEASE_BECAUSE = {
  reservation: 'the inventory reserves this address for it',
  'current-lease': 'it holds this address already',
  'open-offer': 'this address was offered to it a moment ago',
  'previous-lease': 'it had this address before, and the address is free',
  'address-asked-for': 'it requests this address of the pool, and the address is free',
  pool: 'this address of the pool is free',
  'oldest-offer': 'no address is free, and the client that this one was offered to has not requested it',

  selected: 'it accepts the offered address',
  rebooted: 'it reboots with an address that it may keep',
  renewed: 'it renews its lease of this address',
  adopted: 'it has no known lease, but the address is free and in the pool',
  repeated: 'it repeats its request and gets the same reply',
  informed: 'it has an address and requests only settings',

  'wrong-network': 'the requested address does not belong to this network',
  'other-address-reserved': 'the inventory reserves another address for it',
  'reserved-for-another': 'the requested address is reserved for another machine',
  'held-by-another': 'another client holds the requested address',
  'not-in-pool': 'the requested address is in no pool and not reserved for it',
  'of-the-network': 'the requested address is that of the server or of the gateway',
  'other-address-held': 'it holds another address than the requested one',

  'dhcp-off': 'DHCP is off on this network',
  'no-network': 'no declared network matches the origin of this request',
  'other-interface': 'the network of this request is served on another interface',
  'no-server-address': 'the network names no address of this appliance',
  'not-ethernet': 'it has no Ethernet address, which leases are keyed by',
  malformed: 'it names neither a server nor an address',
  'pool-exhausted': 'every address of the pools is taken',
  'port-exhausted': 'too many addresses were just offered to clients of its switch port',
  'no-pool': 'the network has no pool, and the inventory reserves no address for it',
  'other-server-chosen': 'it accepted the offer of another server',
  'answer-under-way': 'the reply to the same request is being written to disk',
  'probe-under-way': 'its address is being probed for another user',
  'for-another-server': 'it is addressed to another server',
  'not-a-client': 'only servers send this',
  'not-its-address': 'it releases or declines an address that it does not hold',
  'declines-too-often': 'it declines every address: check its switch (ARP probes) or the machine itself',
  'address-found-taken': 'it found the address in use; the address is not offered for a while',
  released: 'it releases the address',

  'proxy-offer': 'another server assigns the address, this appliance adds the boot file',
  'boot-server': 'it asks the boot server for its boot file',
  'proxy-without-lease': 'another server assigns the addresses here',
  'nothing-to-boot': 'there is nothing for it to boot',
  'not-a-boot-client': 'it does not boot from the network, and another server assigns the addresses here',
} as const;

export type LeaseReason = keyof typeof LEASE_BECAUSE;
