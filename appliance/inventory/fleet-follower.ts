// Keeps the in-memory fleet up to date with the store: as a subscriber before this process's commits resolve, and by polling for
// the writes of other processes.

import type { Publication } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';

export class FleetFollower {
  readonly #store: Pick<Store, 'inventory' | 'changesSince' | 'subscribe'>;
  readonly #fleet: Fleet;
  /** Called after the catalogue (networks, profiles, …) has changed. */
  onCatalogueChange: () => void = () => {};
  #revision = -1;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(store: Pick<Store, 'inventory' | 'changesSince' | 'subscribe'>, fleet: Fleet) {
    this.#store = store;
    this.#fleet = fleet;
  }

  /** Reads the store once, then follows its commits. Returns unsubscribe. */
  async start(): Promise<() => void> {
    const unsubscribe = this.#store.subscribe((publication) => this.#committed(publication));
    await this.poll();
    return unsubscribe;
  }

  /** Resolves when the fleet has everything that was committed before the call. Concurrent calls share one pass. */
  poll(): Promise<void> {
    if (this.#running !== null) {
      // The running pass may have read before this caller's write: one more pass covers all waiting callers.
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#passes();
    return this.#running;
  }

  /** For the next revision with one machine nothing has to be read. A gap means that another process wrote. */
  #committed({ machine, revision }: Publication): Promise<void> | undefined {
    if (revision <= this.#revision) return undefined;
    if (machine === null || this.#running !== null || revision !== this.#revision + 1) return this.poll();
    this.#fleet.update([machine], { ...this.#fleet.at, revision });
    this.#revision = revision;
    return undefined;
  }

  async #passes(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.#pass();
      } while (this.#again);
    } finally {
      // In the same tick as the last check of #again: no caller can wait for a pass that does not start.
      this.#running = null;
    }
  }

  async #pass(): Promise<void> {
    if (this.#revision >= 0) {
      const changes = await this.#store.changesSince(this.#revision);
      if (!changes.catalogueChanged) {
        this.#fleet.update(changes.machines, changes);
        this.#revision = changes.revision;
        return;
      }
    }
    const inventory = await this.#store.inventory();
    this.#fleet.replace(inventory);
    this.#revision = inventory.revision;
    this.onCatalogueChange();
  }
}
