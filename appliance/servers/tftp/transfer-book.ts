// Running transfers by client, and the limits on new ones. A request costs its sender one packet, and the sender may be forged: at a
// limit, the oldest transfer whose client has never answered gives way to the new one.

import { addressOf, type Endpoint } from '../../net/udp/endpoint.ts';
import type { RunningTransfer } from './transfers.ts';

/** At its limit, a client loses the transfers that it has not answered for this long. */
const ABANDONED_AFTER_MS = 3000;
/** At the total limit, so does every client after this time: longer than any client waits before it repeats a packet. */
const STALLED_AFTER_MS = 10_000;

/** `opening` while the request is resolved and the file is opened. */
type Entry = RunningTransfer | 'opening';

/** The total limit, shared by the books of all listen addresses. */
export class TransferLimit {
  readonly max: number;
  active = 0;
  /** Transfers whose client had not answered when last looked at, the oldest first, and the others; with how to end each. */
  readonly #unanswered = new Map<RunningTransfer, () => void>();
  readonly #answered = new Map<RunningTransfer, () => void>();

  constructor(max: number) {
    this.max = max;
  }

  add(transfer: RunningTransfer, end: () => void): void {
    this.#unanswered.set(transfer, end);
  }

  remove(transfer: RunningTransfer): void {
    this.#unanswered.delete(transfer);
    this.#answered.delete(transfer);
  }

  /** Ends one transfer, if there is one that gives way. */
  makeRoom(): void {
    for (const [transfer, end] of this.#unanswered) {
      if (!transfer.isAnswered()) {
        end();
        return;
      }
      this.#unanswered.delete(transfer);
      this.#answered.set(transfer, end);
    }
    for (const [transfer, end] of this.#answered) {
      if (transfer.silentFor() < STALLED_AFTER_MS) continue;
      end();
      return;
    }
  }
}

export class TransferBook {
  readonly #perClient: number;
  readonly #limit: TransferLimit;
  readonly #transfers = new Map<Endpoint, Entry>();
  readonly #byAddress = new Map<number, Set<Endpoint>>();

  constructor(perClient: number, limit: TransferLimit) {
    this.#perClient = perClient;
    this.#limit = limit;
  }

  get size(): number {
    return this.#transfers.size;
  }

  of(client: Endpoint): Entry | undefined {
    return this.#transfers.get(client);
  }

  enter(client: Endpoint, transfer: Entry): void {
    const before = this.#transfers.get(client);
    if (before === undefined) this.#limit.active += 1;
    else if (before !== 'opening') this.#limit.remove(before);
    this.#transfers.set(client, transfer);
    if (transfer !== 'opening') this.#limit.add(transfer, () => this.#giveWay(client, transfer));
    const own = this.#byAddress.get(addressOf(client)) ?? new Set();
    this.#byAddress.set(addressOf(client), own.add(client));
  }

  /** Does nothing if the client has another transfer now. */
  leave(client: Endpoint, transfer: Entry): void {
    if (this.#transfers.get(client) !== transfer) return;
    this.#transfers.delete(client);
    this.#limit.active -= 1;
    if (transfer !== 'opening') this.#limit.remove(transfer);
    const own = this.#byAddress.get(addressOf(client));
    own?.delete(client);
    if (own?.size === 0) this.#byAddress.delete(addressOf(client));
  }

  /** Why a new transfer is refused; null if it is allowed. */
  refusalFor(client: Endpoint): string | null {
    const own = this.#byAddress.get(addressOf(client));
    if (own && own.size >= this.#perClient) this.#endAbandoned(own);
    if (own && own.size >= this.#perClient) this.#endUnanswered(own);
    if ((own?.size ?? 0) >= this.#perClient) return `too many transfers at once from this address (${this.#perClient})`;
    const { max } = this.#limit;
    if (this.#limit.active >= max) this.#limit.makeRoom();
    return this.#limit.active >= max ? `too many transfers at once (${max})` : null;
  }

  /** Whether the address has a transfer that it follows. */
  hasAnswered(address: number): boolean {
    for (const client of this.#byAddress.get(address) ?? []) {
      const transfer = this.#transfers.get(client);
      if (transfer !== undefined && transfer !== 'opening' && transfer.isAnswered()) return true;
    }
    return false;
  }

  /** A machine that was reset uses new ports, and never ends its old transfers. */
  #endAbandoned(clients: ReadonlySet<Endpoint>): void {
    for (const client of [...clients]) {
      const transfer = this.#transfers.get(client);
      if (transfer && transfer !== 'opening' && transfer.silentFor() >= ABANDONED_AFTER_MS) {
        transfer.abandon('the client started other transfers');
        // Its onEnd may be called later.
        this.leave(client, transfer);
      }
    }
  }

  /** The oldest: a set keeps the order of insertion. */
  #endUnanswered(clients: ReadonlySet<Endpoint>): void {
    for (const client of clients) {
      const transfer = this.#transfers.get(client);
      if (!transfer || transfer === 'opening' || transfer.isAnswered()) continue;
      this.#giveWay(client, transfer);
      return;
    }
  }

  #giveWay(client: Endpoint, transfer: RunningTransfer): void {
    transfer.drop(GAVE_WAY);
    this.leave(client, transfer);
  }
}

/** The reason of a transfer that ended for another one. */
export const GAVE_WAY = 'the client did not answer, and another client needed its place';
