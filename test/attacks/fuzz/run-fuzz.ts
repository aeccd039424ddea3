// Runs mutated inputs through all targets, and counts. The same seed and count run the same inputs.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Random } from './random.ts';
import { fuzzTargets } from './targets.ts';

export interface TargetFigures {
  readonly name: string;
  readonly inputs: number;
  /** Read without an error; the others were refused as they should be. */
  readonly accepted: number;
  readonly crashes: number;
  /** Of one input, in milliseconds. */
  readonly slowest: number;
  readonly seconds: number;
}

export interface FuzzFigures {
  readonly targets: readonly TargetFigures[];
  /** The first crashes, each with its input and how to run it again. */
  readonly examples: readonly string[];
  /** Heap in use after a garbage collection at the end, beyond that after the first tenth of the inputs. */
  readonly heapGrowthBytes: number;
}

const MOST_EXAMPLES = 10;

export function runFuzz(count: number, seed: number): FuzzFigures {
  const random = new Random();
  const examples: string[] = [];
  const targets = fuzzTargets();
  const round = (from: number, to: number) =>
    targets.map(({ name, share, attempt }, index): TargetFigures => {
      const figures = { name, inputs: 0, accepted: 0, crashes: 0, slowest: 0, seconds: 0 };
      const began = performance.now();
      for (let number = Math.ceil((from * share) / 100); number < Math.ceil((to * share) / 100); number += 1) {
        random.start(seed + index, number);
        const before = performance.now();
        const { input, error, isExpected, isAccepted } = attempt(random, number);
        figures.slowest = Math.max(figures.slowest, performance.now() - before);
        figures.inputs += 1;
        if (isAccepted) figures.accepted += 1;
        if (isExpected) continue;
        figures.crashes += 1;
        const words = error instanceof Error ? firstLines(error.stack ?? error.message) : String(error);
        if (examples.length < MOST_EXAMPLES)
          examples.push(`${name}, seed ${seed}, input ${number}: ${input()}\n${words}`);
      }
      figures.seconds = (performance.now() - began) / 1000;
      return figures;
    });
  const warm = Math.ceil(count / 10);
  const first = round(0, warm);
  const before = heapAfterCollection();
  const rest = round(warm, count);
  const heapGrowthBytes = heapAfterCollection() - before;
  return { targets: first.map((one, index) => sum(one, rest[index] ?? one)), examples, heapGrowthBytes };
}

const firstLines = (text: string): string => text.split('\n').slice(0, 3).join('\n');

const sum = (one: TargetFigures, other: TargetFigures): TargetFigures => ({
  name: one.name,
  inputs: one.inputs + other.inputs,
  accepted: one.accepted + other.accepted,
  crashes: one.crashes + other.crashes,
  slowest: Math.max(one.slowest, other.slowest),
  seconds: one.seconds + other.seconds,
});

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What finalizers release is collected the next time.
  for (let times = 0; times < 3; times += 1) collect();
  return process.memoryUsage().heapUsed;
}
