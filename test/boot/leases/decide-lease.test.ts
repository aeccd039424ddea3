import { describe, expect, it } from 'vitest';
import type { LeaseDecision } from '../../../appliance/boot/leases/decide-lease.ts';
import type { LeaseRequest } from '../../../appliance/boot/leases/lease-request.ts';
import { HOUR, MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { MAC, NOW } from '../boot-fixtures.ts';
import { LEASE_CASES } from './lease-cases.ts';
import { Clients, ip, leaseWith, mac, POOL, RESERVED } from './lease-fixtures.ts';

const first = POOL.from;
const second = ip('10.0.100.101');

const addressOf = (decision: LeaseDecision): string | undefined =>
  decision.kind === 'offer' ? decision.address : 'lease' in decision ? decision.lease.address : undefined;

describe('which address a client gets', () => {
  it.each(LEASE_CASES)('$says', ({ client = mac(1), stored = [], asks, gets: [kind, because, address] }) => {
    const decision = new Clients(stored).decide(client, asks);
    expect([decision.kind, decision.because, addressOf(decision)]).toEqual([kind, because, address]);
  });
});

describe('the time of a lease', () => {
  const seconds = (asks: Partial<LeaseRequest>, program: 'os' | 'firmware-pxe' | 'ipxe') => {
    const decision = new Clients().decide(mac(1), asks, { program });
    return decision.kind === 'offer' ? decision.seconds : null;
  };
  it.each([
    ['an operating system holds its lease for an hour', {}, 'os', 3600],
    ['firmware holds it for ten minutes', {}, 'firmware-pxe', 600],
    ['iPXE holds it for ten minutes', {}, 'ipxe', 600],
    ['a client that requests less gets less', { leaseSeconds: 900 }, 'os', 900],
    ['a client that requests one second gets two minutes', { leaseSeconds: 1 }, 'os', 120],
    ['a client that requests more gets no more', { leaseSeconds: 0xffffffff }, 'os', 3600],
  ] as const)('%s', (_, asks, program, expected) => expect(seconds(asks, program)).toBe(expected));
});

describe('a repeated request', () => {
  it('gets the same lease without another write', () => {
    const clients = new Clients();
    const answer = clients.request(mac(1), { requestedAddress: first, xid: 7 });
    clients.now += SECOND;
    const again = clients.request(mac(1), { requestedAddress: first, xid: 7 });
    expect(again).toMatchObject({ kind: 'ack', write: false, seconds: 3599, because: 'repeated' });
    expect('lease' in again && again.lease).toEqual('lease' in answer && answer.lease);
  });

  it('is a new request after the address was released, although it equals the one before', () => {
    const clients = new Clients();
    clients.request(mac(1), { requestedAddress: first, xid: 7 });
    clients.now += SECOND;
    expect(clients.carry(clients.decide(mac(1), { type: 'release', clientAddress: first }))).toMatchObject({
      kind: 'record',
      because: 'released',
    });
    expect(clients.request(mac(1), { requestedAddress: first, xid: 7 })).toMatchObject({
      kind: 'ack',
      write: true,
      seconds: 3600,
    });
  });

  it('is a new request in the next boot, although iPXE sends the same xid', () => {
    const clients = new Clients();
    clients.request(mac(1), { requestedAddress: first, xid: 7 });
    clients.now += MINUTE;
    expect(clients.request(mac(1), { requestedAddress: first, xid: 7 })).toMatchObject({ write: true });
  });

  it('gets no reply while the first reply is being written', () => {
    const clients = new Clients();
    const decision = clients.decide(mac(1), { type: 'request', requestedAddress: first, xid: 7 });
    if (decision.kind !== 'ack') throw new Error(`${decision.kind}: ${decision.because}`);
    clients.leases.beginWriting(decision.lease, 7, NOW + MINUTE);
    expect(clients.request(mac(1), { requestedAddress: first, xid: 7 })).toMatchObject({ because: 'answer-under-way' });
    clients.leases.abandonWriting(decision.lease);
    expect(clients.request(mac(1), { requestedAddress: first, xid: 7 })).toMatchObject({ kind: 'ack', write: true });
  });
});

describe('an offer', () => {
  it('is held for its client, so that two never get the same', () => {
    const clients = new Clients();
    expect(addressOf(clients.discover(mac(1)))).toBe(first);
    expect(addressOf(clients.discover(mac(2)))).toBe(second);
    expect(clients.discover(mac(1))).toMatchObject({ address: first, because: 'open-offer' });
  });

  it('is free again a minute later', () => {
    const clients = new Clients();
    for (const n of [1, 2, 3, 4]) clients.discover(mac(n));
    expect(clients.discover(mac(5)).because).toBe('pool-exhausted');
    clients.now += MINUTE;
    expect(clients.discover(mac(5))).toMatchObject({ kind: 'offer', address: first });
  });

  it('is free at once when its client accepts another server', () => {
    const clients = new Clients();
    clients.discover(mac(1));
    clients.leases.withdraw(mac(1));
    expect(clients.leases.isFreeFor(mac(2), first, NOW)).toBe(true);
  });

  it('uses never-used addresses first, then the longest free', () => {
    const old = (n: number, minutes: number) =>
      leaseWith({
        address: ip(`10.0.100.${n}`),
        mac: mac(n),
        grantedAt: NOW - HOUR,
        expiresAt: NOW - minutes * MINUTE,
      });
    const clients = new Clients([old(100, 5), old(101, 30), old(102, 10)]);
    const given = [1, 2, 3, 4].map((n) => addressOf(clients.discover(mac(n))));
    expect(given).toEqual(['10.0.100.103', '10.0.100.101', '10.0.100.102', '10.0.100.100']);
  });

  it('follows the pools when they change', () => {
    const clients = new Clients();
    clients.discover(mac(1));
    clients.network = { ...clients.network, pools: [{ from: ip('10.0.100.200'), to: ip('10.0.100.201') }] };
    expect(clients.discover(mac(1))).toMatchObject({ address: '10.0.100.200', because: 'pool' });
    expect(clients.request(mac(2), { clientAddress: first })).toMatchObject({ kind: 'nak', because: 'not-in-pool' });
  });

  it('skips an address of the pool that was reserved meanwhile', () => {
    const clients = new Clients();
    const decision = clients.decide(
      mac(1),
      {},
      { reservedAt: (address) => (address === first ? { mac: null } : null) },
    );
    expect(decision).toMatchObject({ kind: 'offer', address: second });
  });

  it('is not made where there is no pool', () => {
    const clients = new Clients();
    clients.network = { ...clients.network, pools: [] };
    expect(clients.discover(mac(1))).toMatchObject({ kind: 'silent', because: 'no-pool' });
    expect(clients.discover(MAC)).toMatchObject({ address: RESERVED });
  });
});
