// The addresses of one network in memory: persisted leases, open offers, and free addresses.
// Allocation takes the same time however large the pool is: never-used addresses first, then the longest free.

import type { Instant } from '../../domain/instant.ts';
import { type Ipv4, type Ipv4Range, ipv4FromNumber, ipv4ToNumber } from '../../domain/ipv4.ts';
import { isHeld, type Lease } from '../../domain/lease.ts';
import type { Mac } from '../../domain/mac.ts';
import { type Offer, type OfferClaim, OpenOffers } from './open-offers.ts';
import { type Reusable, ReuseQueue } from './reuse-queue.ts';

interface Slot extends Reusable {
  readonly address: Ipv4;
  lease: Lease | null;
  offer: Offer | null;
  /** An unknown host was found on it: not offered until then. */
  restsUntil: Instant;
  /** A probe found it free; no new probe is needed until then. */
  foundFreeUntil: Instant;
  /** The request whose reply is being written, or was written last. */
  xid: number | null;
  /** Being written to disk: no other client can get the address, whatever its client sends meanwhile. */
  writing: Lease | null;
}

/** Why `nextFree` should skip an address: for this client, or for every client. */
export type Refusal = 'not-for-this-client' | 'not-for-anybody' | null;

/** When a skipped address (reserved meanwhile) is considered again; for the next client, at once. */
const LOOK_AGAIN_MS = { 'not-for-anybody': 5 * 60 * 1000, 'not-for-this-client': 1 } as const;
/** Limits how many clients are remembered that decline addresses repeatedly. */
const MOST_DECLINERS = 4096;
const NEVER = -Infinity;

export class NetworkLeases {
  readonly #slots = new Map<Ipv4, Slot>();
  /** The last lookup: a decision and its consequences look up the same address repeatedly. */
  #last: Slot | null = null;
  readonly #leaseOf = new Map<Mac, Lease>();
  readonly #offers = new OpenOffers();
  /** Per client: until when each address that it declined is not offered. */
  readonly #declined = new Map<Mac, readonly Instant[]>();
  #ranges: readonly { readonly from: number; readonly to: number }[] = [];
  #reusable = new ReuseQueue<Slot>();
  #freshRange = 0;
  #freshNext = 0;

  /** The pools may change while leases exist; addresses outside them are no longer offered. */
  usePools(pools: readonly Ipv4Range[]): void {
    const ranges = pools.map(({ from, to }) => ({ from: ipv4ToNumber(from), to: ipv4ToNumber(to) }));
    const same =
      ranges.length === this.#ranges.length &&
      ranges.every(({ from, to }, at) => from === this.#ranges[at]?.from && to === this.#ranges[at]?.to);
    if (same) return;
    this.#ranges = ranges;
    this.#reusable = new ReuseQueue();
    this.#freshRange = 0;
    this.#freshNext = ranges[0]?.from ?? 0;
    for (const slot of this.#slots.values()) {
      slot.heapIndex = -1;
      this.#requeue(slot);
    }
  }

  get hasPool(): boolean {
    return this.#ranges.length > 0;
  }

  inPool(address: Ipv4): boolean {
    const number = ipv4ToNumber(address);
    return this.#ranges.some(({ from, to }) => number >= from && number <= to);
  }

  /** The newest lease of this client, in any state. */
  leaseOf(mac: Mac): Lease | null {
    return this.#leaseOf.get(mac) ?? null;
  }

  leaseAt(address: Ipv4): Lease | null {
    return this.#known(address)?.lease ?? null;
  }

  offeredTo(mac: Mac, now: Instant): Ipv4 | null {
    const offer = this.#offers.of(mac);
    return offer !== undefined && offer.until > now ? offer.address : null;
  }

  /** `despite`: an offer that would give way. */
  isFreeFor(mac: Mac, address: Ipv4, now: Instant, despite: Offer | null = null): boolean {
    const slot = this.#known(address);
    if (slot === undefined) return true;
    if (slot.restsUntil > now) return false;
    if (slot.writing !== null && slot.writing.mac !== mac) return false;
    const { offer } = slot;
    if (offer !== null && offer !== despite && offer.until > now && offer.mac !== mac) return false;
    if (slot.lease === null) return true;
    if (slot.lease.state === 'declined') return slot.lease.expiresAt <= now;
    return slot.lease.mac === mac || !isHeld(slot.lease, now);
  }

  /** A free address of the pools; null when there is none. Only `hold` takes it. */
  nextFree(now: Instant, refusal: (address: Ipv4) => Refusal): Ipv4 | null {
    for (let fresh = this.#fresh(); fresh !== null; fresh = this.#fresh()) {
      const refused = refusal(fresh);
      if (refused === null) return fresh;
      this.#reusable.place(this.#slot(fresh), now + LOOK_AGAIN_MS[refused]);
    }
    for (let slot = this.#reusable.first(); slot !== undefined; slot = this.#reusable.first()) {
      if (slot.freeAt > now) return null;
      const refused = refusal(slot.address);
      if (refused === null) return slot.address;
      this.#reusable.place(slot, now + LOOK_AGAIN_MS[refused]);
    }
    return null;
  }

  /** The oldest offer that gives way to a client when no address is free. */
  offerThatYields(claim: OfferClaim): Offer | null {
    return this.#offers.givesWayTo(claim);
  }

  /** The same, among the offers to unknown clients of a switch port. */
  offerThatYieldsAt(port: string, claim: OfferClaim): Offer | null {
    return this.#offers.givesWayAt(port, claim);
  }

  offersAt(port: string, now: Instant): number {
    return this.#offers.countAt(port, now);
  }

  /** An unknown client got no address. */
  noteTurnedAway(mac: Mac, now: Instant): void {
    this.#offers.noteTurnedAway(mac, now);
  }

  wasTurnedAway(mac: Mac, now: Instant): boolean {
    return this.#offers.wasTurnedAway(mac, now);
  }

  /**
   * No other client is offered the address, unless the offer gives way to it. A client has one open offer at a time. An offer to
   * another client ends.
   */
  hold(offer: Offer): void {
    const { address, mac, at } = offer;
    const earlier = this.#offers.of(mac);
    if (earlier !== undefined && earlier.address !== address) this.withdraw(mac);
    const slot = this.#slot(address);
    const before = slot.offer;
    if (before !== null && before.mac !== mac && before.until > at) this.#offers.noteTurnedAway(before.mac, at);
    this.#dropOffer(slot);
    slot.offer = offer;
    this.#offers.add(offer);
    this.#requeue(slot);
  }

  /** The client accepted another server's offer. */
  withdraw(mac: Mac): void {
    const offer = this.#offers.of(mac);
    if (offer === undefined) return;
    const slot = this.#slot(offer.address);
    this.#dropOffer(slot);
    this.#requeue(slot);
  }

  /** A lease is being written to disk: held for its client, but not a lease yet. */
  beginWriting(lease: Lease, xid: number, until: Instant): void {
    const { address, mac, grantedAt: at } = lease;
    this.hold({ address, mac, at, until, rank: 'firm', port: null });
    const slot = this.#slot(lease.address);
    slot.xid = xid;
    slot.writing = lease;
  }

  /** Whether the reply to this request is being written. */
  isWriting(address: Ipv4, mac: Mac, xid: number): boolean {
    const slot = this.#known(address);
    return slot?.writing?.mac === mac && slot.xid === xid;
  }

  /** The lease that this request was already answered with. */
  answered(address: Ipv4, mac: Mac, xid: number): Lease | null {
    const slot = this.#known(address);
    return slot?.xid === xid && slot.writing === null && slot.lease?.mac === mac ? slot.lease : null;
  }

  /** The write failed: the client got no reply and may retry. */
  abandonWriting(lease: Lease): void {
    const slot = this.#slot(lease.address);
    // Another write of the same client may be in progress.
    if (slot.writing !== lease) return;
    slot.writing = null;
    slot.xid = null;
  }

  /** The lease as persisted. */
  record(lease: Lease): void {
    const slot = this.#slot(lease.address);
    const before = slot.lease;
    if (before !== null && before.mac !== lease.mac) this.#forget(before);
    slot.lease = lease;
    if (slot.writing === lease) slot.writing = null;
    if (slot.writing === null && slot.offer?.mac === lease.mac) this.#dropOffer(slot);
    // An address that its client declined is no longer that client's.
    if (lease.state === 'declined') {
      this.#forget(lease);
      slot.foundFreeUntil = NEVER;
    } else this.#leaseOf.set(lease.mac, lease);
    this.#requeue(slot);
  }

  /** In no particular order. */
  *leases(): IterableIterator<Lease> {
    for (const { lease } of this.#slots.values()) if (lease !== null) yield lease;
  }

  /** How many addresses this client has declined recently. */
  declinedBy(mac: Mac, now: Instant): number {
    return (this.#declined.get(mac) ?? []).filter((until) => until > now).length;
  }

  /** The client declined an address, which is not offered until then. */
  noteDecline(mac: Mac, now: Instant, until: Instant): void {
    const open = (this.#declined.get(mac) ?? []).filter((earlier) => earlier > now);
    if (this.#declined.size >= MOST_DECLINERS) this.#declined.clear();
    this.#declined.set(mac, [...open, until]);
  }

  /** An unknown host answers on this address. */
  rest(address: Ipv4, until: Instant): void {
    const slot = this.#slot(address);
    this.#dropOffer(slot);
    slot.restsUntil = until;
    slot.foundFreeUntil = NEVER;
    this.#requeue(slot);
  }

  /** Whether no probe is needed: its last holder returns, or a recent probe found it free. */
  isTrusted(address: Ipv4, mac: Mac, now: Instant): boolean {
    const slot = this.#known(address);
    return slot !== undefined && (slot.lease?.mac === mac || slot.foundFreeUntil > now);
  }

  trust(address: Ipv4, until: Instant): void {
    this.#slot(address).foundFreeUntil = until;
  }

  #dropOffer(slot: Slot): void {
    if (slot.offer !== null) this.#offers.delete(slot.offer);
    slot.offer = null;
  }

  #forget(lease: Lease): void {
    if (this.#leaseOf.get(lease.mac)?.address === lease.address) this.#leaseOf.delete(lease.mac);
  }

  /** The next never-used address, without taking it. */
  #fresh(): Ipv4 | null {
    for (let range = this.#ranges[this.#freshRange]; range !== undefined; range = this.#ranges[this.#freshRange]) {
      for (; this.#freshNext <= range.to; this.#freshNext++) {
        const address = ipv4FromNumber(this.#freshNext);
        if (!this.#slots.has(address)) return address;
      }
      this.#freshRange++;
      this.#freshNext = this.#ranges[this.#freshRange]?.from ?? 0;
    }
    return null;
  }

  #known(address: Ipv4): Slot | undefined {
    if (this.#last?.address === address) return this.#last;
    const known = this.#slots.get(address);
    if (known !== undefined) this.#last = known;
    return known;
  }

  #slot(address: Ipv4): Slot {
    const known = this.#known(address);
    if (known !== undefined) return known;
    const slot: Slot = {
      address,
      lease: null,
      offer: null,
      restsUntil: NEVER,
      foundFreeUntil: NEVER,
      xid: null,
      writing: null,
      freeAt: NEVER,
      heapIndex: -1,
    };
    this.#slots.set(address, slot);
    this.#last = slot;
    return slot;
  }

  #requeue(slot: Slot): void {
    if (slot.heapIndex < 0 && !this.inPool(slot.address)) return;
    // A released lease ended when it was released, which is its place in the queue.
    const freeAt = Math.max(slot.lease?.expiresAt ?? NEVER, slot.offer?.until ?? NEVER, slot.restsUntil);
    this.#reusable.place(slot, freeAt);
  }
}
