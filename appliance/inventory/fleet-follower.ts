// Keeps the in-memory fleet in step with the store: at once after our own writes, and soon after anybody else's.

import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';

export class FleetFollower {
  readonly #store: Pick<Store, 'inventory' | 'changesSince'>;
  readonly #fleet: Fleet;
  /** Told after networks or anything else of the catalogue has changed. */
  onCatalogueChange: () => void = () => {};
  #revision = -1;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(store: Pick<Store, 'inventory' | 'changesSince'>, fleet: Fleet) {
    this.#store = store;
    this.#fleet = fleet;
  }

  /** Resolves when the fleet shows everything that was committed before the call. Calls at the same time share the work. */
  refresh(): Promise<void> {
    if (this.#running !== null) {
      // The running pass may have read before this caller's write: one more pass covers everyone who waits.
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#passes();
    return this.#running;
  }

  async #passes(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.#pass();
      } while (this.#again);
    } finally {
      // In the same breath as the last look at #again, so that nobody joins a pass that will not come.
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
