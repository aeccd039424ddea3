import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LeaseDecision } from '../../../appliance/boot/leases/decide-lease.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import { MAC, machineIn } from '../boot-fixtures.ts';
import { Clients, ip, mac } from './lease-fixtures.ts';

const POOL_SIZE = 4;
const first = ip('10.0.100.100');
const invented = (count: number, from = 1000): Mac[] => Array.from({ length: count }, (_, n) => mac(from + n));
const full = (): Clients => {
  const clients = new Clients();
  for (const stranger of invented(POOL_SIZE)) clients.discover(stranger);
  return clients;
};
const exhausted = { kind: 'silent', because: 'pool-exhausted' } as const;
const addressOf = (decision: LeaseDecision): Ipv4 => {
  if (decision.kind !== 'offer') throw new Error(decision.because);
  return decision.address;
};
const behindPort = (id: number) => ({
  relayAgent: {
    circuitId: Uint8Array.of(id),
    remoteId: null,
    linkSelection: null,
    serverOverride: null,
    damage: null,
  },
});

describe('a pool full of offers that nobody requested', () => {
  it('gives a new client the address of the oldest, after its client had time to request it', () => {
    const clients = full();
    expect(clients.discover(mac(1))).toEqual(exhausted);
    clients.now += 2 * SECOND;
    expect(clients.discover(mac(2))).toMatchObject({ kind: 'offer', because: 'oldest-offer', address: first });
    expect(clients.select(mac(2), first)).toMatchObject({ kind: 'ack', because: 'selected' });
  });

  it('gives it at once to a client that asks again, and to a declared machine', () => {
    const clients = full();
    clients.discover(mac(1));
    expect(clients.discover(mac(1))).toMatchObject({
      because: 'oldest-offer',
      address: first,
      hold: { rank: 'returned' },
    });
    const declared = machineIn('ready', {
      spec: { interfaces: [{ name: 'eth0', mac: mac(2), network: clients.network.name, address: null, mtu: null }] },
    });
    expect(clients.decide(mac(2), { type: 'discover' }, { machine: declared })).toMatchObject({
      because: 'oldest-offer',
      address: ip('10.0.100.101'),
      hold: { rank: 'firm', ms: MINUTE },
    });
  });

  it('gives a machine that only showed up by itself no more than any other unknown client', () => {
    const discovered = machineIn('discovered', {
      spec: { interfaces: [{ name: 'eth0', mac: mac(2), network: full().network.name, address: null, mtu: null }] },
    });
    const clients = full();
    expect(clients.decide(mac(2), { type: 'discover' }, { machine: discovered })).toEqual(exhausted);
    clients.now += 2 * SECOND;
    expect(clients.decide(mac(2), { type: 'discover' }, { machine: discovered })).toMatchObject({
      because: 'oldest-offer',
      hold: { rank: 'newcomer', ms: 15 * SECOND },
    });
  });

  it('refuses the client whose offer it gave away, and prefers it over newcomers afterwards', () => {
    const clients = full();
    const [slow = MAC] = invented(POOL_SIZE);
    clients.now += 2 * SECOND;
    clients.discover(mac(1));
    expect(clients.select(slow, first)).toEqual({ kind: 'nak', because: 'held-by-another' });
    const again = addressOf(clients.discover(slow));
    for (let second = 0; second < 10; second += 1) {
      clients.now += SECOND;
      for (const stranger of invented(20, 2000 + 100 * second)) clients.discover(stranger);
    }
    expect(clients.select(slow, again)).toMatchObject({ kind: 'ack' });
  });

  it('gives away neither a lease, nor one that is being written, nor the offer of a declared machine', () => {
    const clients = new Clients();
    const declared = machineIn('ready', {
      spec: { interfaces: [{ name: 'eth0', mac: mac(9), network: clients.network.name, address: null, mtu: null }] },
    });
    clients.select(mac(1), addressOf(clients.discover(mac(1))));
    const second = addressOf(clients.discover(mac(2)));
    const writing = clients.decide(mac(2), { type: 'request', requestedAddress: second });
    if (writing.kind !== 'ack') throw new Error(writing.because);
    clients.leases.beginWriting(writing.lease, 1, clients.now + MINUTE);
    const offered = clients.decide(mac(9), { type: 'discover' }, { machine: declared });
    if (offered.kind !== 'offer') throw new Error(offered.because);
    const { address, hold } = offered;
    clients.leases.hold({ address, mac: mac(9), at: clients.now, until: clients.now + hold.ms, ...hold });
    const taken = [ip('10.0.100.100'), second, address];
    for (let round = 0; round < 20; round += 1) {
      clients.now += 2 * SECOND;
      for (const stranger of invented(10, 1000 + 10 * round)) {
        const decision = clients.discover(stranger);
        if (decision.kind === 'offer') expect(taken).not.toContain(decision.address);
      }
    }
  });
});

describe('the clients of one switch port', () => {
  it('get a limited number of open offers together, and then take them from one another', () => {
    const clients = new Clients();
    clients.network = { ...clients.network, pools: [{ from: ip('10.0.100.100'), to: ip('10.0.100.250') }] };
    const strangers = invented(200);
    for (const stranger of strangers) {
      clients.now += 50;
      clients.discover(stranger, behindPort(7));
    }
    const held = new Set(strangers.map((stranger) => clients.leases.offeredTo(stranger, clients.now)));
    held.delete(null);
    expect(held.size).toBe(64);
    expect(clients.discover(mac(1), behindPort(8))).toMatchObject({ because: 'pool' });
    expect(clients.discover(mac(2))).toMatchObject({ because: 'pool' });
  });
});

describe('under a flood of invented MAC addresses', () => {
  const flood = fc.record({
    poolSize: fc.integer({ min: 2, max: 40 }),
    perSecond: fc.integer({ min: 1, max: 100 }),
    seconds: fc.integer({ min: 1, max: 20 }),
    waits: fc.integer({ min: 0, max: 4000 }),
  });

  /** A client asks again until its offer is acknowledged; how many times it asked. */
  function triesOf({ poolSize, perSecond, seconds, waits }: typeof flood extends fc.Arbitrary<infer T> ? T : never) {
    const clients = new Clients();
    clients.network = { ...clients.network, pools: [{ from: first, to: ip(`10.0.100.${99 + poolSize}`) }] };
    let next = 0;
    const passes = (ms: number): void => {
      const packets = Math.ceil((perSecond * ms) / 1000);
      for (let sent = 0; sent < packets; sent += 1) {
        clients.now += ms / packets;
        next += 1;
        clients.discover(mac(1000 + (next % 60_000)));
      }
    };
    passes(seconds * 1000);
    for (let tries = 1; tries <= 10; tries += 1) {
      const decision = clients.discover(mac(1));
      passes(decision.kind === 'offer' ? waits : 4000);
      if (decision.kind === 'offer' && clients.select(mac(1), decision.address).kind === 'ack') return tries;
    }
    return Number.POSITIVE_INFINITY;
  }

  it('a client gets an address within three tries, however long it takes to request it', () => {
    fc.assert(
      fc.property(flood, (values) => triesOf(values) <= 3),
      { numRuns: 100 },
    );
  });

  it('a client that has an address keeps it', () => {
    fc.assert(
      fc.property(flood, ({ perSecond, seconds }) => {
        const clients = new Clients();
        const address = addressOf(clients.discover(mac(1)));
        clients.select(mac(1), address);
        for (let sent = 0; sent < perSecond * seconds; sent += 1) {
          clients.now += 1000 / perSecond;
          const decision = clients.discover(mac(1000 + sent));
          if (decision.kind === 'offer' && decision.address === address) return false;
        }
        return clients.request(mac(1), { clientAddress: address }).kind === 'ack';
      }),
      { numRuns: 50 },
    );
  });
});
