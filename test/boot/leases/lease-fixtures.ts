// One network with a small pool, its clients, and the book of their leases.

import { decideLease, type LeaseDecision, type LeaseQuestion } from '../../../appliance/boot/leases/decide-lease.ts';
import { LeaseBook } from '../../../appliance/boot/leases/lease-book.ts';
import type { LeaseRequest } from '../../../appliance/boot/leases/lease-request.ts';
import { type Instant, MINUTE } from '../../../appliance/domain/instant.ts';
import { type Ipv4, parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { Lease } from '../../../appliance/domain/lease.ts';
import { type Mac, parseMac } from '../../../appliance/domain/mac.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { MAC, machineIn, NOW, networkWith, SERVER } from '../boot-fixtures.ts';

export const ip = (text: string): Ipv4 => mustParse(parseIpv4(text));
export const mac = (last: number): Mac =>
  mustParse(parseMac(`52:54:00:00:${hex(Math.floor(last / 256))}:${hex(last % 256)}`));
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

export const POOL = { from: ip('10.0.100.100'), to: ip('10.0.100.103') };
export const NETWORK = networkWith({ pools: [POOL], gateway: ip('10.0.100.1') });
export const RESERVED = ip('10.0.100.50');
/** node01, whose eth0 has a reserved address here. */
export const NODE: Machine = machineIn('ready', {
  spec: { interfaces: [{ name: 'eth0', mac: MAC, network: NETWORK.name, address: RESERVED, mtu: null }] },
});
export const TIMES = { bootSeconds: 600, osSeconds: 3600 };

export const requestOf = (changes: Partial<LeaseRequest>): LeaseRequest => ({
  type: 'discover',
  xid: 1,
  clientAddress: null,
  requestedAddress: null,
  serverIdentifier: null,
  leaseSeconds: null,
  relay: null,
  relayAgent: null,
  subnetSelection: null,
  ...changes,
});

export const leaseWith = (changes: Partial<Lease> = {}): Lease => ({
  address: ip('10.0.100.100'),
  mac: mac(1),
  network: NETWORK.name,
  state: 'bound',
  grantedAt: NOW - MINUTE,
  expiresAt: NOW + MINUTE,
  ...changes,
});

/** Calls the decision and, like the server, updates the book. */
export class Clients {
  readonly book: LeaseBook;
  now: Instant = NOW;
  network = NETWORK;

  constructor(stored: readonly Lease[] = []) {
    this.book = new LeaseBook(stored);
  }

  get leases() {
    return this.book.of(this.network);
  }

  decide(client: Mac, changes: Partial<LeaseRequest>, more: Partial<LeaseQuestion> = {}): LeaseDecision {
    return decideLease({
      request: requestOf(changes),
      mac: client,
      program: 'os',
      network: this.network,
      machine: client === MAC ? NODE : null,
      serverIdentifier: SERVER.address,
      leases: this.leases,
      reservedAt: (address) => (address === RESERVED ? { mac: MAC } : null),
      times: TIMES,
      now: this.now,
      ...more,
    });
  }

  discover(client: Mac, changes: Partial<LeaseRequest> = {}): LeaseDecision {
    const decision = this.decide(client, { type: 'discover', ...changes });
    if (decision.kind === 'offer') {
      const { address, hold } = decision;
      const until = this.now + hold.ms;
      this.leases.hold({ address, mac: client, at: this.now, until, rank: hold.rank, port: hold.port });
    } else if (decision.because === 'pool-exhausted' || decision.because === 'port-exhausted') {
      this.leases.noteTurnedAway(client, this.now);
    }
    return decision;
  }

  request(client: Mac, changes: Partial<LeaseRequest>): LeaseDecision {
    return this.carry(this.decide(client, { type: 'request', ...changes }), changes.xid);
  }

  /** The client accepts our offer. */
  select(client: Mac, address: Ipv4): LeaseDecision {
    return this.request(client, { requestedAddress: address, serverIdentifier: SERVER.address });
  }

  carry(decision: LeaseDecision, xid = 1): LeaseDecision {
    if (decision.kind === 'ack' && decision.write) {
      this.leases.beginWriting(decision.lease, xid, this.now + MINUTE);
      this.leases.record(decision.lease);
    }
    if (decision.kind === 'record') this.leases.record(decision.lease);
    if (decision.kind === 'record' && decision.lease.state === 'declined') {
      this.leases.noteDecline(decision.lease.mac, this.now, decision.lease.expiresAt);
    }
    return decision;
  }
}
