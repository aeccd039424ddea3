// Random numbers for mutated inputs. Each input has its own seed, so that one input can be made again by its number.

export class Random {
  #state = 1;

  /** The numbers that follow depend on these two only. */
  start(seed: number, input: number): void {
    // Two rounds of a 32-bit mix, so that neighbouring inputs have unrelated numbers.
    let mixed = (seed ^ Math.imul(input + 1, 0x9e3779b1)) >>> 0;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    this.#state = (mixed ^ (mixed >>> 16)) >>> 0 || 1;
  }

  /** An integer from 0 to limit - 1; 0 for a limit of 0. Marsaglia's xorshift32. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return limit === 0 ? 0 : (this.#state >>> 0) % limit;
  }

  oneOf<T>(values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }
}
