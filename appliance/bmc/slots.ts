// A counting semaphore with a FIFO queue.

export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async hold<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Passes the slot directly to the next waiter, so that no later caller overtakes it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
