// Running transfers by client, and the limits on new ones.

import { addressOf, type Endpoint } from '../../net/udp/endpoint.ts';
import type { RunningTransfer } from './transfers.ts';

/** At its limit, a client loses the transfers that it has not answered for this long. */
const ABANDONED_AFTER_MS = 3000;

/** `opening` while the request is resolved and the file is opened. */
type Entry = RunningTransfer | 'opening';

/** The total limit, shared by the books of all listen addresses. */
export class TransferLimit {
  readonly max: number;
  active = 0;

  constructor(max: number) {
    this.max = max;
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
    if (!this.#transfers.has(client)) this.#limit.active += 1;
    this.#transfers.set(client, transfer);
    const own = this.#byAddress.get(addressOf(client)) ?? new Set();
    this.#byAddress.set(addressOf(client), own.add(client));
  }

  /** Does nothing if the client has another transfer now. */
  leave(client: Endpoint, transfer: Entry): void {
    if (this.#transfers.get(client) !== transfer) return;
    this.#transfers.delete(client);
    this.#limit.active -= 1;
    const own = this.#byAddress.get(addressOf(client));
    own?.delete(client);
    if (own?.size === 0) this.#byAddress.delete(addressOf(client));
  }

  /** Why a new transfer is refused; null if it is allowed. */
  refusalFor(client: Endpoint): string | null {
    const own = this.#byAddress.get(addressOf(client));
    if (own && own.size >= this.#perClient) this.#endAbandoned(own);
    if ((own?.size ?? 0) >= this.#perClient) return `too many transfers at once from this address (${this.#perClient})`;
    const { active, max } = this.#limit;
    return active >= max ? `too many transfers at once (${max})` : null;
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
}
