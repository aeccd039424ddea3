// Whether a stranger uses an address (RFC 2131 §2.2), asked by ARP without a raw socket: an empty datagram makes the kernel
// resolve the address, and its table of neighbours tells whether anybody answered. All addresses wait side by side.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { UdpPeer } from '../udp/udp-socket.ts';
import type { Clock } from './surroundings.ts';

/** A neighbour on the same wire answers within milliseconds; measured: 40 through two virtual switches. */
const WAIT_MS = 500;
/**
 * An entry that the table had before we asked may be of somebody who left long ago: Linux keeps it as it is for 5 seconds after
 * it is used, then asks three times, a second apart, and only then drops it (arp(7): delay_first_probe_time, ucast_solicit).
 */
const OLD_ENTRY_WAIT_MS = 9000;
const LOOK_EVERY_MS = 50;
/** The kernel keeps 1,024 neighbours by default. Beyond this many at once, an address is offered unseen. */
const MOST_AT_ONCE = 128;
/** RFC 863, discard: whoever listens there wants nothing. */
const DISCARD_PORT = 9;
const NOTHING = new Uint8Array();

interface Pending {
  readonly mac: Mac;
  readonly until: number;
  /** Somebody had answered there before we asked: not heard again yet. */
  readonly isOld: boolean;
  readonly resolve: (inUse: boolean) => void;
}

export class ConflictProbe {
  readonly #device: string;
  readonly #clock: Clock;
  readonly #neighbours: () => Promise<string>;
  readonly #send: (bytes: Uint8Array, to: UdpPeer) => void;
  readonly #pending = new Map<Ipv4, Pending>();
  #reading: Promise<Neighbours> | null = null;
  #timer: { readonly cancel: () => void } | null = null;
  #closed = false;

  constructor(
    device: string,
    { clock, neighbours }: { readonly clock: Clock; readonly neighbours: () => Promise<string> },
    send: (bytes: Uint8Array, to: UdpPeer) => void,
  ) {
    this.#device = device;
    this.#clock = clock;
    this.#neighbours = neighbours;
    this.#send = send;
  }

  get hasRoom(): boolean {
    return !this.#closed && this.#pending.size < MOST_AT_ONCE;
  }

  /** Whether somebody other than `mac` answers on the address. */
  inUse(address: Ipv4, mac: Mac): Promise<boolean> {
    return new Promise((resolve) => {
      const now = this.#clock.now();
      this.#pending.set(address, { mac, until: now + WAIT_MS, isOld: false, resolve });
      void this.#answering().then((before) => {
        const pending = this.#pending.get(address);
        if (pending === undefined) return;
        const isOld = isAnother(before.get(address), mac);
        if (isOld) this.#pending.set(address, { ...pending, isOld, until: now + OLD_ENTRY_WAIT_MS });
        this.#send(NOTHING, { address, port: DISCARD_PORT });
        this.#timer ??= this.#clock.setTimer(LOOK_EVERY_MS, () => void this.#look());
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
    for (const [address, { mac, until, isOld }] of [...this.#pending]) {
      const isTaken = isAnother(answering.get(address), mac);
      const isSure = isOld ? !isTaken : isTaken;
      if (isSure || now >= until) this.#settle(address, isTaken);
    }
    const more = this.#pending.size > 0 && !this.#closed;
    this.#timer = more ? this.#clock.setTimer(LOOK_EVERY_MS, () => void this.#look()) : null;
  }

  /** One look at the table for all who want it at the same time. */
  #answering(): Promise<Neighbours> {
    // Without the table nobody is known to answer: the address is offered, and a client that finds it taken declines it.
    this.#reading ??= this.#neighbours()
      .then(
        (table) => neighboursOn(this.#device, table),
        () => new Map(),
      )
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  #settle(address: Ipv4, inUse: boolean): void {
    const pending = this.#pending.get(address);
    this.#pending.delete(address);
    pending?.resolve(inUse);
  }
}

type Neighbours = ReadonlyMap<string, string>;

const isAnother = (holder: string | undefined, mac: Mac): boolean => holder !== undefined && holder !== mac;

/** Flag 2 of /proc/net/arp: the address was resolved, so somebody answered. */
const RESOLVED = 0x2;

/** Address and hardware address of everybody who answers on this device. */
export function neighboursOn(device: string, table: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , flags, hardware, , on] = line.split(/\s+/);
    if (address === undefined || hardware === undefined || on !== device) continue;
    if (Number(flags) & RESOLVED) found.set(address, hardware.toLowerCase());
  }
  return found;
}
