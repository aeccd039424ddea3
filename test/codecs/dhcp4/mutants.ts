/** Marsaglia's xorshift32: the same numbers, and therefore the same mutants, in every run. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield state >>> 0;
  }
}

/** Returns integers from 0 to limit - 1. */
export function dice(seed: number): (limit: number) => number {
  const random = numbers(seed);
  return (limit) => random.next().value % limit;
}
