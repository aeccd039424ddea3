/** Lets several callers wait for the next change, each with its own timeout. */
export class Changes {
  readonly #waiters = new Set<() => void>();

  happened(): void {
    for (const done of [...this.#waiters]) done();
  }

  /** Resolves at the next change, or after the timeout. */
  next(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#waiters.add(done);
    });
  }
}
