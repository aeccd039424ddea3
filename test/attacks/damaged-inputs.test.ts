// Whoever is on the network sends damaged packets, requests and documents. `npm run bench -- fuzz` runs many more of them.

import { describe, expect, it } from 'vitest';
import { INPUTS as TALLY } from '../attack-tally.ts';
import { Random } from './fuzz/random.ts';
import { runFuzz } from './fuzz/run-fuzz.ts';
import { fuzzTargets } from './fuzz/targets.ts';

const INPUTS = TALLY.readers;
const SEED = 0xc01d;

describe('an attacker who sends damaged inputs', () => {
  it('gets an answer or a refusal from each reader, never a crash, and takes no memory', ({ task }) => {
    const { targets, examples, heapGrowthBytes } = runFuzz(INPUTS, SEED);
    expect(examples).toEqual([]);
    const inputs = targets.reduce((sum, target) => sum + target.inputs, 0);
    task.meta.inputs = inputs;
    expect(inputs).toBe(INPUTS);
    for (const { name, inputs: ofTarget, accepted } of targets) {
      // Damage that is always refused, or never, would test nothing.
      expect(accepted, name).toBeGreaterThan(ofTarget / 100);
      expect(accepted, name).toBeLessThan(0.99 * ofTarget);
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
