// Broken or malicious clients: one of them must not cost the others their addresses.

import { describe, expect, it } from 'vitest';
import { readLeaseRequest } from '../../../appliance/boot/leases/lease-request.ts';
import { OPTION } from '../../../appliance/codecs/dhcp4/options.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { parseObjectName } from '../../../appliance/domain/names.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { packet } from '../../servers/dhcp/rig.ts';
import { MAC, NOW, SERVER } from '../boot-fixtures.ts';
import { Clients, ip, leaseWith, mac, NETWORK, POOL, RESERVED } from './lease-fixtures.ts';

const pool = ['10.0.100.100', '10.0.100.101', '10.0.100.102', '10.0.100.103'].map(ip);
const [first = POOL.from, second = POOL.to] = pool;

describe('a client that cannot have its own reservation', () => {
  it('gets no reply, and other clients still get an address of the pool', () => {
    const clients = new Clients();
    const decision = clients.decide(MAC, { type: 'discover' }, { serverIdentifier: RESERVED });
    expect(decision).toEqual({ kind: 'silent', because: 'of-the-network' });
    expect(pool.map((_, n) => clients.discover(mac(n + 1)))).toMatchObject(pool.map((address) => ({ address })));
  });

  it('cannot set the server or the network with relay options', () => {
    const relayAgent = Uint8Array.of(1, 1, 7, 5, 4, 10, 9, 9, 0, 11, 4, 10, 0, 100, 50);
    const said = packet('discover', MAC, { options: [[OPTION.relayAgentInformation, relayAgent]] });
    const read = (message: typeof said) => mustParse(readLeaseRequest(message, 'discover')).relayAgent;
    expect(read(said)).toMatchObject({ linkSelection: null, serverOverride: null, circuitId: Uint8Array.of(7) });
    expect(read({ ...said, giaddr: ip('10.0.100.2') })).toMatchObject({
      linkSelection: ip('10.9.9.0'),
      serverOverride: RESERVED,
    });
  });
});

describe('an address that one relay uses itself', () => {
  it('is skipped for its clients, and free for all others', () => {
    const clients = new Clients();
    const through = { serverIdentifier: first };
    expect(clients.decide(mac(1), { type: 'discover' }, through)).toMatchObject({ address: second });
    clients.now += 1;
    for (const n of [2, 3, 4]) clients.discover(mac(n));
    expect(clients.discover(mac(5))).toMatchObject({ kind: 'offer', address: first });
  });
});

describe('one client', () => {
  it('cannot collect addresses that were not offered to it', () => {
    const clients = new Clients();
    expect(clients.select(mac(1), first)).toMatchObject({ kind: 'ack' });
    expect(clients.select(mac(1), second)).toEqual({ kind: 'nak', because: 'other-address-held' });
    clients.now += 61 * MINUTE;
    expect(clients.select(mac(1), second)).toMatchObject({ kind: 'ack' });
  });

  it('cannot decline an address that was only offered', () => {
    const clients = new Clients();
    clients.discover(mac(1));
    expect(clients.decide(mac(1), { type: 'decline', requestedAddress: first })).toEqual({
      kind: 'silent',
      because: 'not-its-address',
    });
  });

  it('can decline only a limited number of addresses', () => {
    const clients = new Clients();
    const declines = pool.map((address) => {
      clients.select(mac(1), address);
      return clients.carry(clients.decide(mac(1), { type: 'decline', requestedAddress: address }));
    });
    expect(declines.map(({ because }) => because)).toEqual([
      'address-found-taken',
      'address-found-taken',
      'address-found-taken',
      'declines-too-often',
    ]);
    clients.now += 11 * MINUTE;
    expect(clients.decide(mac(1), { type: 'decline', requestedAddress: pool[3] as typeof first }).kind).toBe('record');
  });

  it.each(['0.0.0.0', '255.255.255.255', '224.0.0.1', '127.0.0.1'])('cannot choose a server at %s', (server) => {
    expect(new Clients().request(mac(1), { requestedAddress: first, serverIdentifier: ip(server) })).toEqual({
      kind: 'silent',
      because: 'malformed',
    });
  });
});

describe('an address whose lease is being written to disk', () => {
  function whileWriting() {
    const clients = new Clients();
    clients.discover(mac(1));
    const decision = clients.decide(mac(1), {
      type: 'request',
      requestedAddress: first,
      serverIdentifier: SERVER.address,
    });
    if (decision.kind !== 'ack') throw new Error(decision.because);
    clients.leases.beginWriting(decision.lease, 1, clients.now + MINUTE);
    return { clients, lease: decision.lease };
  }
  const otherClientGets = (clients: Clients) => clients.select(mac(2), first);

  it('is refused to others when its client accepts another server', () => {
    const { clients } = whileWriting();
    clients.leases.withdraw(mac(1));
    expect(otherClientGets(clients)).toEqual({ kind: 'nak', because: 'held-by-another' });
  });

  it('is refused to others when its client requests another one', () => {
    const { clients, lease } = whileWriting();
    const offer = { address: second, mac: mac(1), at: clients.now, until: clients.now + MINUTE } as const;
    clients.leases.hold({ ...offer, rank: 'newcomer', port: null });
    expect(otherClientGets(clients)).toEqual({ kind: 'nak', because: 'held-by-another' });
    clients.leases.record(lease);
    expect(clients.leases.offeredTo(mac(1), clients.now)).toBe(second);
  });

  it('is refused to others however long the write takes', () => {
    const { clients } = whileWriting();
    clients.now += 5 * MINUTE;
    expect(otherClientGets(clients)).toEqual({ kind: 'nak', because: 'held-by-another' });
    const offered = [2, 3, 4, 5].map((n) => clients.discover(mac(n)));
    expect(offered.filter(({ kind }) => kind === 'offer')).not.toContainEqual(
      expect.objectContaining({ address: first }),
    );
  });
});

describe('leases of a renamed network', () => {
  const renamed = { ...NETWORK, name: mustParse(parseObjectName('boot-net')), pools: [...NETWORK.pools] };

  it('are still held by their clients', () => {
    const clients = new Clients([leaseWith({ address: first, mac: mac(1), expiresAt: NOW + MINUTE })]);
    clients.network = renamed;
    expect(clients.discover(mac(2))).toMatchObject({ address: second });
    expect(clients.discover(mac(1))).toMatchObject({ address: first, because: 'current-lease' });
  });

  it('are those whose addresses are in it, and the newest of each', () => {
    const elsewhere = mustParse(parseObjectName('elsewhere'));
    const clients = new Clients([
      leaseWith({ address: first, mac: mac(1), grantedAt: NOW - 5 * MINUTE, network: elsewhere }),
      leaseWith({ address: ip('10.7.7.7'), mac: mac(3), network: elsewhere }),
      leaseWith({ address: first, mac: mac(2), grantedAt: NOW - MINUTE }),
    ]);
    expect(clients.leases.leaseAt(first)?.mac).toBe(mac(2));
    expect(clients.leases.leaseOf(mac(3))).toBeNull();
  });
});
