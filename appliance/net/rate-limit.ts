/** At most `perSecond` events per second, for unauthenticated input. The caller passes the time, in milliseconds. */
export class RateLimit {
  readonly #perSecond: number;
  #second = 0;
  #count = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  allows(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#perSecond;
  }
}
