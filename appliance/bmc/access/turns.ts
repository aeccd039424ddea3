// One after the other, by name: whoever comes for a name that is taken waits for those before.

export class Turns<Name> {
  readonly #last = new Map<Name, Promise<unknown>>();

  async take<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const turn = before.then(work, work);
    const over = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, over);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === over) this.#last.delete(name);
    }
  }
}
