// The transfers under way, by the clients' TIDs: how many there may be, which have to be told that time passes, and who has
// just ended one.

import { addressOf, type Endpoint } from '../udp/endpoint.ts';
import type { TftpSession } from './tftp-session.ts';
import type { TftpSettings } from './tftp-settings.ts';

export interface TransferClock {
  /** Milliseconds that only ever go forward. */
  now(): number;
  every(period: number, run: () => void): { readonly cancel: () => void };
}

export const monotonicClock: TransferClock = {
  now: () => performance.now(),
  every: (period, run) => {
    const interval = setInterval(run, period);
    return { cancel: () => clearInterval(interval) };
  },
};

/** Against the second after which a packet is sent again, the delay does not count. */
const TICK_MS = 100;
/** A client that asks for one more transfer gives up those that it has not answered for this long. */
const FORGOTTEN_AFTER_MS = 3000;
/** So long a packet may be under way, or a client repeat its last ACK. */
const LATE_PACKETS_MS = 3000;

export class TransferTable {
  readonly #limits: Pick<TftpSettings, 'perClient' | 'atOnce'>;
  readonly #clock: TransferClock;
  /** `opening` while it is decided what to send, and the file is being opened. */
  readonly #transfers = new Map<Endpoint, TftpSession | 'opening'>();
  readonly #byAddress = new Map<number, Set<Endpoint>>();
  /** With the time, oldest first. */
  readonly #ended = new Map<Endpoint, number>();
  #ticking: { readonly cancel: () => void } | null = null;

  constructor(limits: Pick<TftpSettings, 'perClient' | 'atOnce'>, clock: TransferClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#transfers.size;
  }

  of(client: Endpoint): TftpSession | 'opening' | undefined {
    return this.#transfers.get(client);
  }

  enter(client: Endpoint, transfer: TftpSession | 'opening'): void {
    this.#transfers.set(client, transfer);
    const own = this.#byAddress.get(addressOf(client)) ?? new Set();
    this.#byAddress.set(addressOf(client), own.add(client));
    this.#ticking ??= this.#clock.every(TICK_MS, () => this.#tick());
  }

  leave(client: Endpoint): void {
    // Anew, not again: the map keeps the order in which its keys came.
    this.#ended.delete(client);
    if (this.#transfers.get(client) !== 'opening') this.#ended.set(client, this.#clock.now());
    this.#transfers.delete(client);
    const own = this.#byAddress.get(addressOf(client));
    own?.delete(client);
    if (own?.size === 0) this.#byAddress.delete(addressOf(client));
  }

  /** What comes from there now is late, and wrong only in that: an ERROR could hit the next transfer from the same port. */
  hasJustEnded(client: Endpoint): boolean {
    return this.#ended.has(client);
  }

  /** Why there is no room for one more transfer; null when there is. */
  crowdedFor(client: Endpoint): string | null {
    const { perClient, atOnce } = this.#limits;
    const own = this.#byAddress.get(addressOf(client));
    if (own && own.size >= perClient) this.#giveUpForgotten(own);
    if ((own?.size ?? 0) >= perClient) return `too many transfers at once from this address (${perClient})`;
    return this.#transfers.size >= atOnce ? `too many transfers at once (${atOnce})` : null;
  }

  stop(reason: string): void {
    for (const transfer of this.#sessions()) transfer.abandon(reason);
    this.#ended.clear();
    this.#rest();
  }

  /** A machine that was reset asks from new ports, and never ends what it had begun. */
  #giveUpForgotten(clients: ReadonlySet<Endpoint>): void {
    for (const client of [...clients]) {
      const transfer = this.#transfers.get(client);
      if (transfer && transfer !== 'opening' && transfer.silentFor() >= FORGOTTEN_AFTER_MS) {
        transfer.abandon('the client began other transfers instead');
      }
    }
  }

  #tick(): void {
    for (const transfer of this.#sessions()) transfer.onTick();
    const past = this.#clock.now() - LATE_PACKETS_MS;
    for (const [client, at] of this.#ended) {
      if (at > past) break;
      this.#ended.delete(client);
    }
    if (this.#transfers.size === 0 && this.#ended.size === 0) this.#rest();
  }

  #rest(): void {
    this.#ticking?.cancel();
    this.#ticking = null;
  }

  /** A copy: those that end leave the table. */
  #sessions(): TftpSession[] {
    return [...this.#transfers.values()].filter((transfer) => transfer !== 'opening');
  }
}
