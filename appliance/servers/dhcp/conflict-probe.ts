// Whether a stranger uses an address (RFC 2131 §2.2). Who answers there is told by a witness: on our own wire the kernel's table
// of neighbours, behind a relay the echoes that come back. All addresses wait side by side.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Clock } from './dhcp-deps.ts';

/** A neighbour on the same wire answers within milliseconds; measured: 40 through two virtual switches. */
const WAIT_MS = 500;
/** A router that has to find the address first may drop what made it look. */
const ASK_AGAIN_AFTER_MS = 250;
/**
 * An entry that the table had before we asked may be of somebody who left long ago: Linux keeps it as it is for 5 seconds after
 * it is used, then asks three times, a second apart, and only then drops it (arp(7): delay_first_probe_time, ucast_solicit).
 */
const OLD_ENTRY_WAIT_MS = 9000;
const LOOK_EVERY_MS = 50;
/** The kernel keeps 1,024 neighbours by default. Beyond this many at once, an address is offered unseen. */
const MOST_AT_ONCE = 128;

export interface Witness {
  /** Whether one question may be lost, and is worth another. */
  readonly mayMiss: boolean;
  /** Makes whoever uses the address answer. False: nobody can be asked. */
  ask(address: Ipv4): boolean;
  /** Everybody who answers, with the hardware address where it is known. */
  answering(): Promise<Answering>;
  /** Nobody wants to know about this one any more. */
  forget(address: Ipv4): void;
}

export type Answering = ReadonlyMap<string, Mac | 'somebody'>;

interface Pending {
  readonly mac: Mac;
  readonly askAgainAt: number;
  readonly until: number;
  /** Somebody had answered there before we asked: not heard again yet. */
  readonly isOld: boolean;
  readonly resolve: (inUse: boolean) => void;
}

export class ConflictProbe {
  readonly #clock: Clock;
  readonly #witness: Witness;
  readonly #pending = new Map<Ipv4, Pending>();
  #reading: Promise<Answering> | null = null;
  #timer: { readonly cancel: () => void } | null = null;
  #closed = false;

  constructor(clock: Clock, witness: Witness) {
    this.#clock = clock;
    this.#witness = witness;
  }

  get hasRoom(): boolean {
    return !this.#closed && this.#pending.size < MOST_AT_ONCE;
  }

  /** Whether somebody other than `mac` answers on the address. */
  inUse(address: Ipv4, mac: Mac): Promise<boolean> {
    return new Promise((resolve) => {
      const now = this.#clock.now();
      const askAgainAt = this.#witness.mayMiss ? now + ASK_AGAIN_AFTER_MS : Number.POSITIVE_INFINITY;
      this.#pending.set(address, { mac, askAgainAt, until: now + WAIT_MS, isOld: false, resolve });
      void this.#answering().then((before) => {
        const pending = this.#pending.get(address);
        if (pending === undefined) return;
        const isOld = isAnother(before.get(address), mac);
        if (isOld) this.#pending.set(address, { ...pending, isOld, until: now + OLD_ENTRY_WAIT_MS });
        if (!this.#witness.ask(address)) this.#settle(address, false);
        else this.#timer ??= this.#clock.setTimer(LOOK_EVERY_MS, () => void this.#look());
      });
    });
  }

  /** Those still waiting are told that nobody answered; whoever asked is going away too. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    for (const address of [...this.#pending.keys()]) this.#settle(address, false);
  }

  async #look(): Promise<void> {
    const answering = await this.#answering();
    const now = this.#clock.now();
    for (const [address, pending] of [...this.#pending]) {
      const isTaken = isAnother(answering.get(address), pending.mac);
      const isSure = pending.isOld ? !isTaken : isTaken;
      if (isSure || now >= pending.until) this.#settle(address, isTaken);
      else if (now >= pending.askAgainAt) {
        this.#witness.ask(address);
        this.#pending.set(address, { ...pending, askAgainAt: Number.POSITIVE_INFINITY });
      }
    }
    const more = this.#pending.size > 0 && !this.#closed;
    this.#timer = more ? this.#clock.setTimer(LOOK_EVERY_MS, () => void this.#look()) : null;
  }

  /** One look for all who want it at the same time. */
  #answering(): Promise<Answering> {
    // Without the witness nobody is known to answer: the address is offered, and a client that finds it taken declines it.
    this.#reading ??= this.#witness
      .answering()
      .catch(() => new Map())
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  #settle(address: Ipv4, inUse: boolean): void {
    const pending = this.#pending.get(address);
    this.#pending.delete(address);
    this.#witness.forget(address);
    pending?.resolve(inUse);
  }
}

const isAnother = (holder: string | undefined, mac: Mac): boolean => holder !== undefined && holder !== mac;
