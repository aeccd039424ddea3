// Detects whether another host uses an address (RFC 2131 §2.2). The method is ARP through the kernel's neighbour table on a
// directly attached network, and ICMP echo behind a relay. Addresses are probed in parallel.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { DhcpClock } from './dhcp-deps.ts';

/** A neighbour on the same link answers within milliseconds; measured: 40 through two virtual switches. */
const WAIT_MS = 500;
/** A router that must resolve the address first may drop the packet that triggered the resolution. */
const RETRANSMIT_AFTER_MS = 250;
/**
 * A table entry that existed before the probe may be stale: Linux keeps it unchanged for 5 seconds after it is used, then
 * sends three requests, a second apart, and only then drops it (arp(7): delay_first_probe_time, ucast_solicit).
 */
const STALE_ENTRY_WAIT_MS = 9000;
const POLL_EVERY_MS = 50;
/** The kernel keeps 1,024 neighbours by default. Beyond this many concurrent probes, an address is offered without one. */
const MAX_CONCURRENT = 128;

export interface ProbeMethod {
  /** A probe packet may be lost, so it is retransmitted once. */
  readonly isLossy: boolean;
  /** Sends a probe to the address. False: it cannot be sent. */
  probe(address: Ipv4): boolean;
  /** All addresses that answered, with the hardware address where it is known. */
  holders(): Promise<AddressHolders>;
  /** The probe of this address is over. */
  forget(address: Ipv4): void;
}

export type AddressHolders = ReadonlyMap<string, Mac | 'unknown'>;

interface Pending {
  readonly mac: Mac;
  readonly retransmitAt: number;
  readonly until: number;
  /** The table had an entry before the probe, and it is not confirmed yet. */
  readonly isStale: boolean;
  readonly resolve: (inUse: boolean) => void;
}

export class ConflictProbe {
  readonly #clock: DhcpClock;
  readonly #method: ProbeMethod;
  readonly #pending = new Map<Ipv4, Pending>();
  #reading: Promise<AddressHolders> | null = null;
  #timer: { readonly cancel: () => void } | null = null;
  #closed = false;

  constructor(clock: DhcpClock, method: ProbeMethod) {
    this.#clock = clock;
    this.#method = method;
  }

  get hasCapacity(): boolean {
    return !this.#closed && this.#pending.size < MAX_CONCURRENT;
  }

  /** Whether a host other than `mac` answers on the address. */
  inUse(address: Ipv4, mac: Mac): Promise<boolean> {
    return new Promise((resolve) => {
      const now = this.#clock.now();
      const retransmitAt = this.#method.isLossy ? now + RETRANSMIT_AFTER_MS : Number.POSITIVE_INFINITY;
      this.#pending.set(address, { mac, retransmitAt, until: now + WAIT_MS, isStale: false, resolve });
      void this.#holders().then((before) => {
        const pending = this.#pending.get(address);
        if (pending === undefined) return;
        const isStale = isAnother(before.get(address), mac);
        if (isStale) this.#pending.set(address, { ...pending, isStale, until: now + STALE_ENTRY_WAIT_MS });
        if (!this.#method.probe(address)) this.#settle(address, false);
        else this.#timer ??= this.#clock.setTimer(POLL_EVERY_MS, () => void this.#poll());
      });
    });
  }

  /** Pending probes resolve as "not in use"; their callers are stopping too. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    for (const address of [...this.#pending.keys()]) this.#settle(address, false);
  }

  async #poll(): Promise<void> {
    const holders = await this.#holders();
    const now = this.#clock.now();
    for (const [address, pending] of [...this.#pending]) {
      const isInUse = isAnother(holders.get(address), pending.mac);
      const isSure = pending.isStale ? !isInUse : isInUse;
      if (isSure || now >= pending.until) this.#settle(address, isInUse);
      else if (now >= pending.retransmitAt) {
        this.#method.probe(address);
        this.#pending.set(address, { ...pending, retransmitAt: Number.POSITIVE_INFINITY });
      }
    }
    const more = this.#pending.size > 0 && !this.#closed;
    this.#timer = more ? this.#clock.setTimer(POLL_EVERY_MS, () => void this.#poll()) : null;
  }

  /** Concurrent callers share one read. */
  #holders(): Promise<AddressHolders> {
    // If the read fails, the address counts as free: it is offered, and a client that finds it in use declines it.
    this.#reading ??= this.#method
      .holders()
      .catch(() => new Map())
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  #settle(address: Ipv4, inUse: boolean): void {
    const pending = this.#pending.get(address);
    this.#pending.delete(address);
    this.#method.forget(address);
    pending?.resolve(inUse);
  }
}

const isAnother = (holder: string | undefined, mac: Mac): boolean => holder !== undefined && holder !== mac;
