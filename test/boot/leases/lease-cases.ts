// The requests of RFC 2131 §4.3 and their decisions, one case per row.

import type { LeaseDecision } from '../../../appliance/boot/leases/decide-lease.ts';
import type { LeaseReason } from '../../../appliance/boot/leases/lease-because.ts';
import type { LeaseRequest } from '../../../appliance/boot/leases/lease-request.ts';
import { HOUR, MINUTE } from '../../../appliance/domain/instant.ts';
import type { Lease } from '../../../appliance/domain/lease.ts';
import { MAC, NOW, SERVER } from '../boot-fixtures.ts';
import { ip, leaseWith, mac, POOL, RESERVED } from './lease-fixtures.ts';

interface Row {
  readonly says: string;
  readonly client?: typeof MAC;
  readonly stored?: readonly Lease[];
  readonly asks: Partial<LeaseRequest>;
  /** Kind, reason, and the address if there is one. */
  readonly gets: readonly [LeaseDecision['kind'], LeaseReason, string?];
}

const OURS = SERVER.address;
const OTHER_SERVER = ip('10.0.100.66');
const first = POOL.from;
const second = ip('10.0.100.101');
const outside = ip('10.0.100.99');
const past = { grantedAt: NOW - HOUR, expiresAt: NOW - MINUTE };
const fullPool = [0, 1, 2, 3].map((n) => leaseWith({ address: ip(`10.0.100.${100 + n}`), mac: mac(100 + n) }));

export const LEASE_CASES: readonly Row[] = [
  // DISCOVER, RFC 2131 §4.3.1
  {
    says: 'a reserved address has precedence',
    client: MAC,
    stored: [leaseWith({ mac: MAC })],
    asks: {},
    gets: ['offer', 'reservation', RESERVED],
  },
  {
    says: 'a client with a lease outside of the changed pool is offered one of the pool',
    stored: [leaseWith({ address: outside })],
    asks: {},
    gets: ['offer', 'pool', first],
  },
  {
    says: 'a client with a lease is offered it again',
    stored: [leaseWith({ address: second })],
    asks: {},
    gets: ['offer', 'current-lease', second],
  },
  {
    says: 'an expired lease is offered to its last holder',
    stored: [leaseWith({ address: second, ...past })],
    asks: {},
    gets: ['offer', 'previous-lease', second],
  },
  {
    says: 'a released address is offered to its last holder',
    stored: [leaseWith({ address: second, state: 'released', expiresAt: NOW })],
    asks: {},
    gets: ['offer', 'previous-lease', second],
  },
  {
    says: 'a previous address that another client holds now is not offered',
    stored: [leaseWith({ address: second, ...past }), leaseWith({ address: second, mac: mac(2) })],
    asks: {},
    gets: ['offer', 'pool', first],
  },
  {
    says: 'a free address of the pool is given on request',
    asks: { requestedAddress: second },
    gets: ['offer', 'address-asked-for', second],
  },
  {
    says: 'an address outside of the pool is not given on request',
    asks: { requestedAddress: outside },
    gets: ['offer', 'pool', first],
  },
  {
    says: 'an address of another network is not given on request',
    asks: { requestedAddress: ip('192.168.1.5') },
    gets: ['offer', 'pool', first],
  },
  {
    says: 'an address that another client holds is not given on request',
    stored: [leaseWith({ mac: mac(2) })],
    asks: { requestedAddress: first },
    gets: ['offer', 'pool', second],
  },
  {
    says: 'an address reserved for another machine is not given on request',
    asks: { requestedAddress: RESERVED },
    gets: ['offer', 'pool', first],
  },
  {
    says: 'the address of the server is not given on request',
    asks: { requestedAddress: OURS },
    gets: ['offer', 'pool', first],
  },
  {
    says: 'a declined address is not offered',
    stored: [leaseWith({ state: 'declined', mac: mac(2) })],
    asks: { requestedAddress: first },
    gets: ['offer', 'pool', second],
  },
  {
    says: 'a declined address is free again after the rest time',
    stored: [leaseWith({ state: 'declined', mac: mac(2), ...past })],
    asks: { requestedAddress: first },
    gets: ['offer', 'address-asked-for', first],
  },
  {
    says: 'an exhausted pool gets no reply',
    stored: fullPool,
    asks: {},
    gets: ['silent', 'pool-exhausted'],
  },
  {
    says: 'a reservation that another client still holds is replaced by a pool address',
    client: MAC,
    stored: [leaseWith({ address: RESERVED, mac: mac(2) })],
    asks: {},
    gets: ['offer', 'pool', first],
  },

  // REQUEST in SELECTING, §4.3.2
  {
    says: 'an accepted offer becomes a lease',
    asks: { type: 'request', serverIdentifier: OURS, requestedAddress: first },
    gets: ['ack', 'adopted', first],
  },
  {
    says: 'a client that accepts another server is released',
    asks: { type: 'request', serverIdentifier: OTHER_SERVER, requestedAddress: ip('10.0.100.7') },
    gets: ['withdraw', 'other-server-chosen'],
  },
  {
    says: 'a selection without an address is dropped',
    asks: { type: 'request', serverIdentifier: OURS },
    gets: ['silent', 'malformed'],
  },
  {
    says: 'selecting an address that another holds is refused',
    stored: [leaseWith({ mac: mac(2) })],
    asks: { type: 'request', serverIdentifier: OURS, requestedAddress: first },
    gets: ['nak', 'held-by-another'],
  },
  {
    says: 'selecting a pool address instead of the reserved one is refused',
    client: MAC,
    asks: { type: 'request', serverIdentifier: OURS, requestedAddress: first },
    gets: ['nak', 'other-address-reserved'],
  },
  {
    says: 'selecting the address of the gateway is refused',
    asks: { type: 'request', serverIdentifier: OURS, requestedAddress: ip('10.0.100.1') },
    gets: ['nak', 'of-the-network'],
  },

  // REQUEST in INIT-REBOOT
  {
    says: 'a client that reboots with its address keeps it',
    stored: [leaseWith()],
    asks: { type: 'request', requestedAddress: first },
    gets: ['ack', 'rebooted', first],
  },
  {
    says: 'a machine reboots with its reserved address',
    client: MAC,
    asks: { type: 'request', requestedAddress: RESERVED },
    gets: ['ack', 'rebooted', RESERVED],
  },
  {
    says: 'a client from another network is refused',
    asks: { type: 'request', requestedAddress: ip('192.168.1.5') },
    gets: ['nak', 'wrong-network'],
  },
  {
    says: 'a client that holds another address is refused',
    stored: [leaseWith({ address: second })],
    asks: { type: 'request', requestedAddress: first },
    gets: ['nak', 'other-address-held'],
  },
  {
    says: 'a client that reboots with a lease outside of the changed pool keeps it',
    stored: [leaseWith({ address: outside })],
    asks: { type: 'request', requestedAddress: outside },
    gets: ['ack', 'rebooted', outside],
  },
  {
    says: 'a client without a record keeps a free address of the pool',
    asks: { type: 'request', requestedAddress: first },
    gets: ['ack', 'adopted', first],
  },
  {
    says: 'a client without a record is refused an address outside of the pool',
    asks: { type: 'request', requestedAddress: outside },
    gets: ['nak', 'not-in-pool'],
  },
  {
    says: 'a request with neither server nor address is dropped',
    asks: { type: 'request' },
    gets: ['silent', 'malformed'],
  },

  // REQUEST in RENEWING and REBINDING
  {
    says: 'a lease is renewed',
    stored: [leaseWith()],
    asks: { type: 'request', clientAddress: first },
    gets: ['ack', 'renewed', first],
  },
  {
    says: 'a lease that expired is renewed while no other client has it',
    stored: [leaseWith(past)],
    asks: { type: 'request', clientAddress: first },
    gets: ['ack', 'renewed', first],
  },
  {
    says: 'a lease that another client has now is refused',
    stored: [leaseWith({ mac: mac(2) })],
    asks: { type: 'request', clientAddress: first },
    gets: ['nak', 'held-by-another'],
  },
  {
    says: 'a lease that is not in the store is adopted',
    asks: { type: 'request', clientAddress: first },
    gets: ['ack', 'adopted', first],
  },
  {
    says: 'an address that was reserved for another machine meanwhile is not renewed',
    stored: [leaseWith({ address: RESERVED })],
    asks: { type: 'request', clientAddress: RESERVED },
    gets: ['nak', 'reserved-for-another'],
  },
  {
    says: 'a lease outside of the changed pool is renewed',
    stored: [leaseWith({ address: outside })],
    asks: { type: 'request', clientAddress: outside },
    gets: ['ack', 'renewed', outside],
  },
  {
    says: 'an expired lease outside of the pool is not renewed',
    stored: [leaseWith({ address: outside, ...past })],
    asks: { type: 'request', clientAddress: outside },
    gets: ['nak', 'not-in-pool'],
  },
  {
    says: 'a lease outside of the pool is refused to other clients',
    stored: [leaseWith({ address: outside, mac: mac(2) })],
    asks: { type: 'request', clientAddress: outside },
    gets: ['nak', 'held-by-another'],
  },
  {
    says: 'renewing an address of another network is refused',
    asks: { type: 'request', clientAddress: ip('10.9.9.9') },
    gets: ['nak', 'wrong-network'],
  },

  // DECLINE, RELEASE, INFORM
  {
    says: 'a declined lease is recorded',
    stored: [leaseWith()],
    asks: { type: 'decline', requestedAddress: first, serverIdentifier: OURS },
    gets: ['record', 'address-found-taken', first],
  },
  {
    says: 'a client cannot decline the lease of another',
    stored: [leaseWith({ mac: mac(2) })],
    asks: { type: 'decline', requestedAddress: first },
    gets: ['silent', 'not-its-address'],
  },
  { says: 'a decline that names no address is dropped', asks: { type: 'decline' }, gets: ['silent', 'malformed'] },
  {
    says: 'a decline to another server is ignored',
    stored: [leaseWith()],
    asks: { type: 'decline', requestedAddress: first, serverIdentifier: OTHER_SERVER },
    gets: ['silent', 'for-another-server'],
  },
  {
    says: 'a released lease is free',
    stored: [leaseWith()],
    asks: { type: 'release', clientAddress: first },
    gets: ['record', 'released', first],
  },
  {
    says: 'a client cannot release the lease of another',
    stored: [leaseWith({ mac: mac(2) })],
    asks: { type: 'release', clientAddress: first },
    gets: ['silent', 'not-its-address'],
  },
  {
    says: 'a release to another server is ignored',
    stored: [leaseWith()],
    asks: { type: 'release', clientAddress: first, serverIdentifier: OTHER_SERVER },
    gets: ['silent', 'for-another-server'],
  },
  {
    says: 'an INFORM gets settings and no lease',
    asks: { type: 'inform', clientAddress: ip('10.0.100.9') },
    gets: ['inform', 'informed'],
  },
  { says: 'a server message gets no reply', asks: { type: 'offer' }, gets: ['silent', 'not-a-client'] },
];
