/** Marsaglia's xorshift32: the same numbers, and so the same mutants, in every run. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield state >>> 0;
  }
}

/** Draws a whole number from 0 up to, and without, its limit. */
export function dice(seed: number): (limit: number) => number {
  const random = numbers(seed);
  return (limit) => random.next().value % limit;
}
