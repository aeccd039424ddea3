// The open offers of one network: addresses that were offered and not requested yet. A DISCOVER costs its sender nothing, so a
// flood of them with invented MAC addresses would hold every address of a pool. When a pool is full, or a switch port has many
// open offers, the oldest offer of an unknown client gives way. An address that a client has requested never does.

import type { Instant } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';

/**
 * Who an offer gives way to. `firm`: to nobody; a declared machine, or a client that has requested the address. `returned`: an
 * unknown client that was here before; an invented MAC address is used once. `newcomer`: any other unknown client.
 */
export type OfferRank = 'firm' | 'returned' | 'newcomer';

export interface Offer {
  readonly address: Ipv4;
  readonly mac: Mac;
  readonly at: Instant;
  readonly until: Instant;
  readonly rank: OfferRank;
  /** The switch port (option 82) that the client is behind; null: not known. */
  readonly port: string | null;
}

/** A client that asks for an address. */
export interface OfferClaim {
  readonly rank: OfferRank;
  readonly now: Instant;
  readonly may: (offer: Offer) => boolean;
}

/** An offer does not give way to an equal one in this time: most clients request the address at once. */
const KEPT_MS = 2000;
/** Clients that got no address or lost their offer, and are remembered. The first to be turned away is forgotten first. */
const MOST_TURNED_AWAY = 16_384;
const REMEMBERED_MS = 2 * 60_000;

export class OpenOffers {
  readonly #byMac = new Map<Mac, Offer>();
  /** In the order in which they were made. */
  readonly #byRank = { newcomer: new Set<Offer>(), returned: new Set<Offer>() };
  readonly #byPort = new Map<string, Set<Offer>>();
  readonly #turnedAway = new Map<Mac, Instant>();

  of(mac: Mac): Offer | undefined {
    return this.#byMac.get(mac);
  }

  add(offer: Offer): void {
    this.#byMac.set(offer.mac, offer);
    if (offer.rank === 'firm') return;
    this.#byRank[offer.rank].add(offer);
    if (offer.port === null) return;
    const atPort = this.#byPort.get(offer.port) ?? new Set();
    this.#byPort.set(offer.port, atPort.add(offer));
  }

  delete(offer: Offer): void {
    if (this.#byMac.get(offer.mac) === offer) this.#byMac.delete(offer.mac);
    if (offer.rank === 'firm') return;
    this.#byRank[offer.rank].delete(offer);
    if (offer.port === null) return;
    const atPort = this.#byPort.get(offer.port);
    atPort?.delete(offer);
    if (atPort?.size === 0) this.#byPort.delete(offer.port);
  }

  /** The oldest offer that gives way to this client; null: none does. */
  givesWayTo(claim: OfferClaim): Offer | null {
    const newcomer = oldestOf(this.#byRank.newcomer, claim);
    return newcomer === null && claim.rank !== 'newcomer' ? oldestOf(this.#byRank.returned, claim) : newcomer;
  }

  /** The same, among the clients of one switch port. */
  givesWayAt(port: string, claim: OfferClaim): Offer | null {
    return oldestOf(this.#byPort.get(port) ?? [], claim);
  }

  /** Open offers to unknown clients of a switch port. */
  countAt(port: string, now: Instant): number {
    const atPort = this.#byPort.get(port);
    for (const offer of atPort ?? []) {
      // All are held for the same time, so the oldest expire first.
      if (offer.until > now) break;
      atPort?.delete(offer);
    }
    return atPort?.size ?? 0;
  }

  /** The client got no address, or its offer went to another client. */
  noteTurnedAway(mac: Mac, now: Instant): void {
    this.#turnedAway.delete(mac);
    this.#turnedAway.set(mac, now);
    if (this.#turnedAway.size <= MOST_TURNED_AWAY) return;
    for (const first of this.#turnedAway.keys()) {
      this.#turnedAway.delete(first);
      break;
    }
  }

  wasTurnedAway(mac: Mac, now: Instant): boolean {
    const at = this.#turnedAway.get(mac);
    return at !== undefined && now - at < REMEMBERED_MS;
  }
}

/** `offers`: the oldest first. */
function oldestOf(offers: Iterable<Offer>, claim: OfferClaim): Offer | null {
  for (const offer of offers) {
    if (yields(offer, claim)) {
      if (claim.may(offer)) return offer;
    } else if (isFresh(offer, claim)) return null;
  }
  return null;
}

function yields(offer: Offer, claim: OfferClaim): boolean {
  if (claim.rank === 'firm' || (claim.rank === 'returned' && offer.rank === 'newcomer')) return true;
  return claim.rank === offer.rank && !isFresh(offer, claim);
}

const isFresh = ({ at }: Offer, { now }: OfferClaim): boolean => now - at < KEPT_MS;
