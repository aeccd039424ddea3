// Who has transfers under way, and whether there is room for one more.

import { addressOf, type Endpoint } from '../../net/udp/endpoint.ts';
import type { RunningTransfer } from './transfers.ts';

/** A client that asks for one more transfer gives up those that it has not answered for this long. */
const FORGOTTEN_AFTER_MS = 3000;

/** `opening` while it is decided what to send, and the file is being opened. */
type Entry = RunningTransfer | 'opening';

/** Shared by all books of an appliance, which has a book for each address that it listens on. */
export class TransferRoom {
  readonly places: number;
  taken = 0;

  constructor(places: number) {
    this.places = places;
  }
}

export class TransferBook {
  readonly #perClient: number;
  readonly #room: TransferRoom;
  readonly #transfers = new Map<Endpoint, Entry>();
  readonly #byAddress = new Map<number, Set<Endpoint>>();

  constructor(perClient: number, room: TransferRoom) {
    this.#perClient = perClient;
    this.#room = room;
  }

  get size(): number {
    return this.#transfers.size;
  }

  of(client: Endpoint): Entry | undefined {
    return this.#transfers.get(client);
  }

  enter(client: Endpoint, transfer: Entry): void {
    if (!this.#transfers.has(client)) this.#room.taken += 1;
    this.#transfers.set(client, transfer);
    const own = this.#byAddress.get(addressOf(client)) ?? new Set();
    this.#byAddress.set(addressOf(client), own.add(client));
  }

  /** Nothing happens when the client has another one by now. */
  leave(client: Endpoint, transfer: Entry): void {
    if (this.#transfers.get(client) !== transfer) return;
    this.#transfers.delete(client);
    this.#room.taken -= 1;
    const own = this.#byAddress.get(addressOf(client));
    own?.delete(client);
    if (own?.size === 0) this.#byAddress.delete(addressOf(client));
  }

  /** Why there is no room for one more transfer; null when there is. */
  crowdedFor(client: Endpoint): string | null {
    const own = this.#byAddress.get(addressOf(client));
    if (own && own.size >= this.#perClient) this.#giveUpForgotten(own);
    if ((own?.size ?? 0) >= this.#perClient) return `too many transfers at once from this address (${this.#perClient})`;
    const { taken, places } = this.#room;
    return taken >= places ? `too many transfers at once (${places})` : null;
  }

  /** A machine that was reset asks from new ports, and never ends what it had begun. */
  #giveUpForgotten(clients: ReadonlySet<Endpoint>): void {
    for (const client of [...clients]) {
      const transfer = this.#transfers.get(client);
      if (transfer && transfer !== 'opening' && transfer.silentFor() >= FORGOTTEN_AFTER_MS) {
        transfer.abandon('the client began other transfers instead');
        // Its end may be told later.
        this.leave(client, transfer);
      }
    }
  }
}
