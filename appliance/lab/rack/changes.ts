/** Lets several wait for the next change of something, each with its own patience. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  happened(): void {
    for (const done of [...this.#waiting]) done();
  }

  /** Resolves at the next change, or when the time is up. */
  next(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#waiting.add(done);
    });
  }
}
