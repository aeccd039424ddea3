// A mutex per key, with a FIFO queue.

export class KeyedMutex<Key> {
  readonly #last = new Map<Key, Promise<unknown>>();

  async run<T>(key: Key, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = before.then(work, work);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}
