// The addresses of one network in memory: leases that are on disk, offers that are open, and what is free.
// An address from the pool costs the same however large the pool is: first those never used, then the longest free.

import type { Instant } from '../domain/instant.ts';
import { type Ipv4, type Ipv4Range, ipv4FromNumber, ipv4ToNumber } from '../domain/ipv4.ts';
import { isHeld, type Lease } from '../domain/lease.ts';
import type { Mac } from '../domain/mac.ts';
import { type Reusable, ReuseQueue } from './reuse-queue.ts';

interface Offer {
  readonly address: Ipv4;
  readonly mac: Mac;
  readonly until: Instant;
}

interface Slot extends Reusable {
  readonly address: Ipv4;
  lease: Lease | null;
  offer: Offer | null;
  /** Somebody we do not know was found on it: left alone until then. */
  restsUntil: Instant;
  /** Leased by us, or found free, since this process started: nobody needs to look again. */
  trusted: boolean;
  /** The request whose answer is being written down, or was last. */
  xid: number | null;
  writing: boolean;
}

/** How soon an address that may not be given away (reserved meanwhile) is looked at again. */
const LOOK_AGAIN_MS = 5 * 60 * 1000;
const NEVER = -Infinity;

export class NetworkLeases {
  readonly #slots = new Map<Ipv4, Slot>();
  /** Looked up last: a decision and what follows from it ask about the same address again and again. */
  #last: Slot | null = null;
  readonly #leaseOf = new Map<Mac, Lease>();
  readonly #offerTo = new Map<Mac, Offer>();
  #ranges: readonly { readonly from: number; readonly to: number }[] = [];
  #reusable = new ReuseQueue<Slot>();
  #freshRange = 0;
  #freshNext = 0;

  /** The pools may change while leases live on; what lies outside of them is no longer given away. */
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

  /** The newest lease of this client, in whatever state. */
  leaseOf(mac: Mac): Lease | null {
    return this.#leaseOf.get(mac) ?? null;
  }

  leaseAt(address: Ipv4): Lease | null {
    return this.#known(address)?.lease ?? null;
  }

  offeredTo(mac: Mac, now: Instant): Ipv4 | null {
    const offer = this.#offerTo.get(mac);
    return offer !== undefined && offer.until > now ? offer.address : null;
  }

  isFreeFor(mac: Mac, address: Ipv4, now: Instant): boolean {
    const slot = this.#known(address);
    if (slot === undefined) return true;
    if (slot.restsUntil > now) return false;
    if (slot.offer !== null && slot.offer.until > now && slot.offer.mac !== mac) return false;
    if (slot.lease === null) return true;
    if (slot.lease.state === 'declined') return slot.lease.expiresAt <= now;
    return slot.lease.mac === mac || !isHeld(slot.lease, now);
  }

  /** An address of the pools that nobody holds; null when there is none. Taken only by `hold`. */
  nextFree(now: Instant, refused: (address: Ipv4) => boolean): Ipv4 | null {
    for (let fresh = this.#fresh(); fresh !== null; fresh = this.#fresh()) {
      if (!refused(fresh)) return fresh;
      this.#reusable.place(this.#slot(fresh), now + LOOK_AGAIN_MS);
    }
    for (let slot = this.#reusable.first(); slot !== undefined; slot = this.#reusable.first()) {
      if (slot.freeAt > now) return null;
      if (!refused(slot.address)) return slot.address;
      this.#reusable.place(slot, now + LOOK_AGAIN_MS);
    }
    return null;
  }

  /** Nobody else is offered it until then. A client has one open offer at a time. */
  hold(address: Ipv4, mac: Mac, until: Instant): void {
    const earlier = this.#offerTo.get(mac);
    if (earlier !== undefined && earlier.address !== address) this.withdraw(mac);
    const slot = this.#slot(address);
    if (slot.offer !== null && slot.offer.mac !== mac) this.#offerTo.delete(slot.offer.mac);
    slot.offer = { address, mac, until };
    this.#offerTo.set(mac, slot.offer);
    this.#requeue(slot);
  }

  /** The client took another server's offer. */
  withdraw(mac: Mac): void {
    const offer = this.#offerTo.get(mac);
    if (offer === undefined) return;
    this.#offerTo.delete(mac);
    const slot = this.#slot(offer.address);
    slot.offer = null;
    this.#requeue(slot);
  }

  /** A lease is on its way to the disk: held for its client, but not a lease yet. */
  beginWriting({ address, mac }: Lease, xid: number, until: Instant): void {
    this.hold(address, mac, until);
    const slot = this.#slot(address);
    slot.xid = xid;
    slot.writing = true;
  }

  /** Whether the answer to this very request is being written down. */
  isWriting(address: Ipv4, mac: Mac, xid: number): boolean {
    const slot = this.#known(address);
    return slot?.writing === true && slot.xid === xid && slot.offer?.mac === mac;
  }

  /** The lease that this very request was answered with before. */
  answered(address: Ipv4, mac: Mac, xid: number): Lease | null {
    const slot = this.#known(address);
    return slot?.xid === xid && !slot.writing && slot.lease?.mac === mac ? slot.lease : null;
  }

  /** The write failed: the client was not answered and may ask again. */
  abandonWriting(address: Ipv4): void {
    const slot = this.#slot(address);
    slot.writing = false;
    slot.xid = null;
  }

  /** What the disk holds now. */
  record(lease: Lease, trusted = true): void {
    const slot = this.#slot(lease.address);
    const before = slot.lease;
    if (before !== null && before.mac !== lease.mac) this.#forget(before);
    slot.lease = lease;
    slot.writing = false;
    slot.trusted = trusted && lease.state !== 'declined';
    if (slot.offer?.mac === lease.mac) {
      this.#offerTo.delete(lease.mac);
      slot.offer = null;
    }
    // An address that its client found taken is no longer that client's.
    if (lease.state === 'declined') this.#forget(lease);
    else this.#leaseOf.set(lease.mac, lease);
    this.#requeue(slot);
  }

  /** A stranger answers on this address. */
  rest(address: Ipv4, until: Instant): void {
    const slot = this.#slot(address);
    if (slot.offer !== null) this.#offerTo.delete(slot.offer.mac);
    slot.offer = null;
    slot.restsUntil = until;
    this.#requeue(slot);
  }

  isTrusted(address: Ipv4): boolean {
    return this.#known(address)?.trusted ?? false;
  }

  trust(address: Ipv4): void {
    this.#slot(address).trusted = true;
  }

  #forget(lease: Lease): void {
    if (this.#leaseOf.get(lease.mac)?.address === lease.address) this.#leaseOf.delete(lease.mac);
  }

  /** The next address that was never used, without taking it. */
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
      trusted: false,
      xid: null,
      writing: false,
      freeAt: NEVER,
      heapIndex: -1,
    };
    this.#slots.set(address, slot);
    this.#last = slot;
    return slot;
  }

  #requeue(slot: Slot): void {
    if (slot.heapIndex < 0 && !this.inPool(slot.address)) return;
    // A released lease ended when it was released, which is its place in the line.
    const freeAt = Math.max(slot.lease?.expiresAt ?? NEVER, slot.offer?.until ?? NEVER, slot.restsUntil);
    this.#reusable.place(slot, freeAt);
  }
}
