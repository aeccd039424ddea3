import fc from 'fast-check';
import { describe, it } from 'vitest';
import type { LeaseDecision } from '../../../appliance/boot/leases/decide-lease.ts';
import { HOUR } from '../../../appliance/domain/instant.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { inRange } from '../../../appliance/domain/ipv4.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import { MAC, SERVER } from '../boot-fixtures.ts';
import { Clients, ip, mac, POOL, RESERVED } from './lease-fixtures.ts';

const CLIENTS: readonly Mac[] = [MAC, ...[1, 2, 3, 4, 5, 6, 7].map(mac)];
/** In the pool, beside it, reserved, the server's, the gateway's, and of another network. */
const ADDRESSES = ['100', '101', '102', '103', '104', '50', '10', '1']
  .map((n) => ip(`10.0.100.${n}`))
  .concat(ip('10.9.9.9'));

const step = fc.record({
  client: fc.constantFrom(...CLIENTS),
  address: fc.constantFrom(...ADDRESSES),
  does: fc.constantFrom('discover', 'take', 'reboot', 'renew', 'decline', 'release', 'other-server', 'wait'),
  wait: fc.integer({ min: 0, max: 2 * HOUR }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The last reply to each client, as the client itself sees it. */
class ClientViews {
  readonly held = new Map<Mac, { address: Ipv4; until: number }>();
  readonly offered = new Map<Mac, { address: Ipv4; until: number }>();
  /** Clients whose open offer was given to another; they do not know it. */
  readonly displaced = new Set<Mac>();

  hear(client: Mac, decision: LeaseDecision, now: number): void {
    if (decision.kind === 'offer') {
      const { address, hold } = decision;
      for (const [other, { address: taken, until }] of this.offered)
        if (other !== client && taken === address && until > now) this.displaced.add(other);
      this.offered.set(client, { address, until: now + hold.ms });
      this.displaced.delete(client);
    }
    if (decision.kind === 'ack') {
      this.held.set(client, { address: decision.lease.address, until: now + decision.seconds * 1000 });
      this.offered.delete(client);
    }
    if (decision.kind === 'nak' || decision.kind === 'record') this.held.delete(client);
    // A client that releases or declines an address does not use it any more.
    if (decision.kind === 'record' && this.offered.get(client)?.address === decision.lease.address) {
      this.offered.delete(client);
    }
  }
}

function carryOut(clients: Clients, { client, address, does, wait }: Step, views: ClientViews): LeaseDecision | null {
  const own = views.held.get(client)?.address ?? address;
  switch (does) {
    case 'wait':
      clients.now += wait;
      return null;
    case 'discover':
      return clients.discover(client, { requestedAddress: address });
    case 'take':
      return clients.select(client, views.offered.get(client)?.address ?? address);
    case 'reboot':
      return clients.request(client, { requestedAddress: own });
    case 'renew':
      return clients.request(client, { clientAddress: own });
    case 'decline':
      return clients.carry(clients.decide(client, { type: 'decline', requestedAddress: own }));
    case 'release':
      return clients.carry(clients.decide(client, { type: 'release', clientAddress: own }));
    case 'other-server':
      clients.leases.withdraw(client);
      views.offered.delete(client);
      return null;
  }
}

function check(clients: Clients, client: Mac, decision: LeaseDecision, views: ClientViews): void {
  if (decision.kind !== 'offer' && decision.kind !== 'ack') return;
  const address = decision.kind === 'offer' ? decision.address : decision.lease.address;
  if (address === RESERVED ? client !== MAC : !inRange(POOL, address)) throw new Error(`${address} given to ${client}`);
  if (address === SERVER.address) throw new Error('our own address was given away');
  for (const [other, { address: taken, until }] of views.held) {
    if (other !== client && taken === address && until > clients.now)
      throw new Error(`${address} given to ${client} while ${other} has it`);
  }
  for (const [other, { address: taken, until }] of views.offered) {
    if (other === client || taken !== address || until <= clients.now || views.displaced.has(other)) continue;
    if (decision.because !== 'oldest-offer') throw new Error(`${address} given to ${client}, offered to ${other}`);
    if (other === MAC) throw new Error(`${address} taken from the declared machine`);
  }
}

describe('any sequence of requests', () => {
  it('never leases an address to two clients, nor offers one that another has requested, nor one outside of the scope', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clients = new Clients();
        const views = new ClientViews();
        for (const next of steps) {
          const decision = carryOut(clients, next, views);
          if (decision === null) continue;
          check(clients, next.client, decision, views);
          views.hear(next.client, decision, clients.now);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('after a restart from the stored leases, no client gets an address that another holds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.array(step, { maxLength: 40 }), (before, after) => {
        let clients = new Clients();
        const views = new ClientViews();
        const stored = new Map<Ipv4, LeaseDecision & { kind: 'ack' | 'record' }>();
        for (const [at, next] of [...before, null, ...after].entries()) {
          if (next === null) {
            const { now } = clients;
            clients = new Clients([...stored.values()].map(({ lease }) => lease));
            clients.now = now;
            views.offered.clear();
            views.displaced.clear();
            continue;
          }
          const decision = carryOut(clients, next, views);
          if (decision === null) continue;
          if (at > before.length) check(clients, next.client, decision, views);
          if (decision.kind === 'ack' || decision.kind === 'record') stored.set(decision.lease.address, decision);
          views.hear(next.client, decision, clients.now);
        }
      }),
      { numRuns: 300 },
    );
  });
});
