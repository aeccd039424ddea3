// Whoever is on the network sends damaged packets, requests and documents. `npm run bench -- fuzz` runs many more of them.

import { describe, expect, it } from 'vitest';
import { Random } from './fuzz/random.ts';
import { runFuzz } from './fuzz/run-fuzz.ts';
import { fuzzTargets } from './fuzz/targets.ts';

const INPUTS = 200_000;
const SEED = 0xc01d;

describe('an attacker who sends damaged inputs', () => {
  it('gets an answer or a refusal from each reader, never a crash, and takes no memory', () => {
    const { targets, examples, heapGrowthBytes } = runFuzz(INPUTS, SEED);
    expect(examples).toEqual([]);
    expect(targets.reduce((sum, { inputs }) => sum + inputs, 0)).toBe(INPUTS);
    for (const { name, inputs, accepted } of targets) {
      // Damage that is always refused, or never, would test nothing.
      expect(accepted, name).toBeGreaterThan(inputs / 100);
      expect(accepted, name).toBeLessThan(0.99 * inputs);
    }
    expect(heapGrowthBytes).toBeLessThan(32 * 1024 * 1024);
  });

  it('makes each input from its seed and number only', () => {
    const random = new Random();
    const inputsOf = (): string[] =>
      fuzzTargets().flatMap(({ attempt }, index) =>
        [0, 1, 2, 500].map((number) => {
          random.start(SEED + index, number);
          return attempt(random, number).input();
        }),
      );
    const first = inputsOf();
    expect(inputsOf()).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });
});
