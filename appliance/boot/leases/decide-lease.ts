// Which address a client gets, and whether it gets a reply: RFC 2131 §4.3. Leases are keyed by hardware address, because
// firmware, iPXE and operating system of one machine each send a different client identifier.

import type { Instant } from '../../domain/instant.ts';
import { contains, type Ipv4, isUnicast } from '../../domain/ipv4.ts';
import { isHeld, type Lease } from '../../domain/lease.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { STATES } from '../../domain/states.ts';
import type { ClientProgram } from '../client-facts.ts';
import type { LeaseReason } from './lease-because.ts';
import type { LeaseRequest } from './lease-request.ts';
import type { NetworkLeases } from './network-leases.ts';
import type { Offer, OfferRank } from './open-offers.ts';

export interface LeaseTimes {
  /** Firmware and boot loaders: the operating system follows within minutes. */
  readonly bootSeconds: number;
  readonly osSeconds: number;
}

export interface LeaseQuestion {
  readonly request: LeaseRequest;
  readonly mac: Mac;
  readonly program: ClientProgram;
  readonly network: SiteNetwork;
  readonly machine: Machine | null;
  /** Our server identifier (option 54) for this client. */
  readonly serverIdentifier: Ipv4;
  readonly leases: NetworkLeases;
  /** Whether the inventory reserves this address for a machine's interface on this network, and for which MAC. */
  readonly reservedAt: (address: Ipv4) => { readonly mac: Mac | null } | null;
  readonly times: LeaseTimes;
  readonly now: Instant;
}

export type LeaseDecision =
  | {
      readonly kind: 'offer';
      readonly address: Ipv4;
      readonly seconds: number;
      readonly hold: OfferHold;
      readonly because: LeaseReason;
    }
  /** `write`: persist it before the reply is sent. */
  | {
      readonly kind: 'ack';
      readonly lease: Lease;
      readonly seconds: number;
      readonly write: boolean;
      readonly because: LeaseReason;
    }
  | { readonly kind: 'nak'; readonly because: LeaseReason }
  | { readonly kind: 'inform'; readonly because: LeaseReason }
  /** To be persisted; the client expects no reply. */
  | { readonly kind: 'record'; readonly lease: Lease; readonly because: LeaseReason }
  /** The client accepted the offer of this other server. */
  | { readonly kind: 'withdraw'; readonly otherServer: Ipv4; readonly because: LeaseReason }
  | { readonly kind: 'silent'; readonly because: LeaseReason };

/** How an offered address is held until its client requests it. */
export interface OfferHold extends Pick<Offer, 'rank' | 'port'> {
  readonly ms: number;
}

/** RFC 2131 §3.1 sets no limit; PXE firmware may take half a minute from DISCOVER to REQUEST. */
export const OFFER_HELD_MS = 60_000;
/**
 * For a client that is not in the inventory. It may still request the address afterwards: a free address goes to another client
 * only when no other is free.
 */
const STRANGER_HELD_MS = 15_000;
/** Open offers to unknown clients of one switch port: more than a chassis full of blades that start together. */
const MOST_OFFERS_PER_PORT = 64;
/** How long an address is not offered after a client, or our own probe, found it in use. */
export const REST_MS = 10 * 60_000;
/** A client repeats a REQUEST within seconds; iPXE reuses the xid of one boot in the next. */
const REPEAT_WINDOW_MS = 10_000;
const SHORTEST_SECONDS = 120;
/** A client that declines more addresses than this within the rest time counts as faulty: it would exhaust the pool. */
const MOST_DECLINES = 3;

/** Reasons that bar an address for every client: none depends on the client or its relay. */
const BARS_EVERYBODY: readonly LeaseReason[] = ['reserved-for-another', 'held-by-another', 'wrong-network'];

export function decideLease(question: LeaseQuestion): LeaseDecision {
  switch (question.request.type) {
    case 'discover':
      return decideOffer(question);
    case 'request':
      return decideRequest(question);
    case 'decline':
      return decideDecline(question);
    case 'release':
      return decideRelease(question);
    case 'inform':
      return { kind: 'inform', because: 'informed' };
    case 'offer':
    case 'ack':
    case 'nak':
      return silent('not-a-client');
  }
}

/**
 * RFC 2131 §4.3.1: the reservation first, then the current or previous lease, then the requested address, then any. When none is
 * free, the address of an offer that gives way.
 */
function decideOffer(question: LeaseQuestion): LeaseDecision {
  const { mac, leases, request, now } = question;
  const offer = (address: Ipv4, because: LeaseReason): LeaseDecision => ({
    kind: 'offer',
    address,
    seconds: secondsFor(question),
    hold: holdFor(question, because),
    because,
  });
  const may = (address: Ipv4): boolean => obstacle(question, address) === null;

  const reserved = reservationOf(question);
  if (reserved !== null && leases.isFreeFor(mac, reserved, now)) {
    const refusal = obstacle(question, reserved);
    return refusal === null ? offer(reserved, 'reservation') : silent(refusal);
  }
  const lease = leases.leaseOf(mac);
  if (lease !== null && may(lease.address)) {
    return offer(lease.address, isHeld(lease, now) ? 'current-lease' : 'previous-lease');
  }
  const offered = leases.offeredTo(mac, now);
  if (offered !== null && may(offered)) return offer(offered, 'open-offer');
  const port = portOf(question);
  if (port !== null && leases.offersAt(port, now) >= MOST_OFFERS_PER_PORT) {
    const given = leases.offerThatYieldsAt(port, claimOf(question));
    return given === null ? silent('port-exhausted') : offer(given.address, 'oldest-offer');
  }
  if (request.requestedAddress !== null && may(request.requestedAddress)) {
    return offer(request.requestedAddress, 'address-asked-for');
  }
  const free = leases.nextFree(now, (address) => {
    const refusal = obstacle(question, address);
    if (refusal === null) return null;
    return BARS_EVERYBODY.includes(refusal) ? 'not-for-anybody' : 'not-for-this-client';
  });
  if (free !== null) return offer(free, 'pool');
  const given = leases.offerThatYields(claimOf(question));
  if (given !== null) return offer(given.address, 'oldest-offer');
  return silent(leases.hasPool ? 'pool-exhausted' : 'no-pool');
}

const claimOf = (question: LeaseQuestion) => ({
  rank: rankOf(question),
  now: question.now,
  may: (given: Offer): boolean => obstacle(question, given.address, given) === null,
});

function rankOf({ machine, mac, leases, now }: LeaseQuestion): OfferRank {
  if (isDeclared(machine)) return 'firm';
  return leases.leaseOf(mac) !== null || leases.wasTurnedAway(mac, now) ? 'returned' : 'newcomer';
}

/** A machine that only showed up by itself may have an invented MAC address, until a person accepts it. */
const isDeclared = (machine: Machine | null): boolean =>
  machine !== null && STATES[machine.lifecycle.state].boots.into !== 'network-policy';

function holdFor(question: LeaseQuestion, because: LeaseReason): OfferHold {
  const rank = because === 'current-lease' ? 'firm' : rankOf(question);
  return { ms: rank === 'firm' ? OFFER_HELD_MS : STRANGER_HELD_MS, rank, port: portOf(question) };
}

/** The switch port of an unknown client, as its relay or its switch names it. */
function portOf({ machine, request: { relay, relayAgent } }: LeaseQuestion): string | null {
  if (isDeclared(machine) || relayAgent === null) return null;
  const { circuitId, remoteId } = relayAgent;
  if (circuitId === null && remoteId === null) return null;
  return [relay ?? '', hex(circuitId), hex(remoteId)].join(' ');
}

const hex = (bytes: Uint8Array | null): string => (bytes === null ? '' : Buffer.from(bytes).toString('hex'));

/** RFC 2131 §4.3.2: options 54 and 50 and ciaddr tell which of the four states the client is in. */
function decideRequest(question: LeaseQuestion): LeaseDecision {
  const { requestedAddress, serverIdentifier, clientAddress } = question.request;
  if (serverIdentifier !== null) {
    if (!isUnicast(serverIdentifier)) return silent('malformed');
    const otherServer = otherServerChosen(question.request, question.serverIdentifier, question.network.server);
    if (otherServer !== null) return { kind: 'withdraw', otherServer, because: 'other-server-chosen' };
    // SELECTING. Without option 50 the selected address is unknown.
    return requestedAddress === null ? silent('malformed') : grant(question, requestedAddress, 'selected');
  }
  // RENEWING is unicast to us and REBINDING is broadcast; both have their address in ciaddr.
  if (clientAddress !== null) return grant(question, clientAddress, 'renewed');
  // INIT-REBOOT.
  return requestedAddress === null ? silent('malformed') : grant(question, requestedAddress, 'rebooted');
}

/** The server that a REQUEST is for, if it is a valid address and neither of ours. */
export function otherServerChosen(
  { type, serverIdentifier: chosen }: LeaseRequest,
  serverIdentifier: Ipv4,
  server: Ipv4 | null,
): Ipv4 | null {
  if (type !== 'request' || chosen === null || chosen === serverIdentifier || chosen === server) return null;
  return isUnicast(chosen) ? chosen : null;
}

/**
 * We are authoritative: a client that requests an address it cannot have gets a NAK at once, and a client whose lease we
 * do not know keeps an address that is free: a lost database must not take a rack off the network.
 */
function grant(question: LeaseQuestion, address: Ipv4, because: 'selected' | 'renewed' | 'rebooted'): LeaseDecision {
  const { mac, leases, request, now } = question;
  const refusal = obstacle(question, address);
  const current = leases.leaseOf(mac);
  // Pools change. A machine keeps the address it uses; it gets one of the pool at its next boot.
  const mayKeep = refusal === 'not-in-pool' && current?.address === address && isHeld(current, now);
  if (refusal !== null && !mayKeep) return { kind: 'nak', because: refusal };
  if (leases.isWriting(address, mac, request.xid)) return silent('answer-under-way');

  const answered = leases.answered(address, mac, request.xid);
  if (answered !== null && isHeld(answered, now) && now - answered.grantedAt < REPEAT_WINDOW_MS) {
    const seconds = Math.floor((answered.expiresAt - now) / 1000);
    return { kind: 'ack', lease: answered, seconds, write: false, because: 'repeated' };
  }

  const known =
    current?.address === address || leases.offeredTo(mac, now) === address || reservationOf(question) === address;
  // In SELECTING as well: otherwise a client could collect addresses that were never offered to it.
  if (!known && current !== null && isHeld(current, now)) return { kind: 'nak', because: 'other-address-held' };
  const seconds = secondsFor(question);
  const lease: Lease = {
    address,
    mac,
    network: question.network.name,
    state: 'bound',
    grantedAt: now,
    expiresAt: now + seconds * 1000,
  };
  return { kind: 'ack', lease, seconds, write: true, because: known ? because : 'adopted' };
}

/**
 * RFC 2131 §4.3.3. Only the holder may decline, and only a limited number of times: any other client could disable the pool,
 * address by address. A switch that probes addresses by ARP while they are being assigned makes healthy clients decline too.
 */
function decideDecline(question: LeaseQuestion): LeaseDecision {
  const { request, mac, network, leases, now } = question;
  if (isForAnotherServer(question)) return silent('for-another-server');
  const address = request.requestedAddress;
  if (address === null) return silent('malformed');
  const lease = leases.leaseAt(address);
  if (lease?.mac !== mac || !isHeld(lease, now)) return silent('not-its-address');
  if (leases.declinedBy(mac, now) >= MOST_DECLINES) return silent('declines-too-often');
  const declined: Lease = {
    address,
    mac,
    network: network.name,
    state: 'declined',
    grantedAt: now,
    expiresAt: now + REST_MS,
  };
  return { kind: 'record', lease: declined, because: 'address-found-taken' };
}

/** RFC 2131 §4.3.4: free for others, but remembered, so that the client gets it again. */
function decideRelease(question: LeaseQuestion): LeaseDecision {
  const { request, mac, leases, now } = question;
  if (isForAnotherServer(question)) return silent('for-another-server');
  if (request.clientAddress === null) return silent('malformed');
  const lease = leases.leaseAt(request.clientAddress);
  if (lease === null || lease.mac !== mac || !isHeld(lease, now)) return silent('not-its-address');
  return { kind: 'record', lease: { ...lease, state: 'released', expiresAt: now }, because: 'released' };
}

/** Why this client cannot have this address; null when it can. `despite`: an offer that would give way. */
function obstacle(question: LeaseQuestion, address: Ipv4, despite: Offer | null = null): LeaseReason | null {
  const { network, mac, leases, serverIdentifier, now } = question;
  if (!contains(network.prefix, address)) return 'wrong-network';
  if (address === network.server || address === network.gateway || address === serverIdentifier)
    return 'of-the-network';
  const holder = question.reservedAt(address);
  if (holder !== null && holder.mac !== mac) return 'reserved-for-another';
  if (!leases.isFreeFor(mac, address, now, despite)) return 'held-by-another';
  if (holder !== null) return null;
  // A reservation that another client still uses has to wait; until then the machine gets an address of the pool.
  const reserved = reservationOf(question);
  if (reserved !== null && leases.isFreeFor(mac, reserved, now)) return 'other-address-reserved';
  return leases.inPool(address) ? null : 'not-in-pool';
}

/** The address that the inventory reserves for this interface on this network. */
function reservationOf({ machine, mac, network }: LeaseQuestion): Ipv4 | null {
  if (machine === null) return null;
  for (const nic of machine.spec.interfaces) {
    if (nic.mac === mac && nic.network === network.name) return nic.address;
  }
  return null;
}

const isForAnotherServer = ({ request, serverIdentifier, network }: LeaseQuestion): boolean =>
  request.serverIdentifier !== null &&
  request.serverIdentifier !== serverIdentifier &&
  request.serverIdentifier !== network.server;

/** A client may request a shorter lease (RFC 2131 §4.3.1), but not so short that it only renews. */
function secondsFor({ program, times, request }: LeaseQuestion): number {
  const most = program === 'os' ? times.osSeconds : times.bootSeconds;
  return Math.min(most, Math.max(request.leaseSeconds ?? most, SHORTEST_SECONDS));
}

const silent = (because: LeaseReason): LeaseDecision => ({ kind: 'silent', because });
