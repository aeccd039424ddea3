// Publishes each commit to the subscribers, in commit order, before the commit resolves.

import type { Publication, Subscriber } from './change.ts';

interface Log {
  error(fields: object, message: string): void;
}

/** A position in the commit order, taken while the transaction holds the write lock. */
export interface Turn {
  /** Resolves when every subscriber has been called. Null: nothing was committed. */
  publish(publication: Publication | null): Promise<void>;
}

export class Publisher {
  readonly #log: Log | null;
  readonly #subscribers = new Set<Subscriber>();
  #last: Promise<void> = Promise.resolve();

  constructor(log: Log | null) {
    this.#log = log;
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  turn(): Turn {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    return {
      publish: async (publication) => {
        await before;
        try {
          if (publication) await this.#deliver(publication);
        } finally {
          resolve();
        }
      },
    };
  }

  async #deliver(publication: Publication): Promise<void> {
    for (const subscriber of [...this.#subscribers]) {
      try {
        await subscriber(publication);
      } catch (error) {
        this.#log?.error({ err: error }, 'a store subscriber failed; the commit is not affected');
      }
    }
  }
}
