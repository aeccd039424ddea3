// Mutated inputs through everything that reads bytes from a network, in this process: 10 million, or as many as the command line says.

import { runFuzz } from '../attacks/fuzz/run-fuzz.ts';
import { printTable, say } from './figures.ts';

const INPUTS = 10_000_000;
const SEED = 0x5eed;

export async function benchFuzz(count: number = INPUTS): Promise<void> {
  const { targets, examples, heapGrowthBytes } = runFuzz(count, SEED);
  printTable(
    ['mutated', 'inputs', 'accepted', 'refused', 'crashes', 'slowest ms', 'seconds'],
    targets.map(({ name, inputs, accepted, crashes, slowest, seconds }) => [
      name,
      inputs.toLocaleString('en'),
      accepted.toLocaleString('en'),
      (inputs - accepted - crashes).toLocaleString('en'),
      String(crashes),
      slowest.toFixed(1),
      seconds.toFixed(1),
    ]),
  );
  for (const example of examples) say(example);
  const total = (of: (target: (typeof targets)[number]) => number): number =>
    targets.reduce((sum, target) => sum + of(target), 0);
  const crashes = total((target) => target.crashes);
  const growth = (heapGrowthBytes / 1024 / 1024).toFixed(1);
  const seconds = total((target) => target.seconds).toFixed(0);
  say(
    `fuzz: inputs=${total((target) => target.inputs)} crashes=${crashes} heap_growth_mib=${growth} seconds=${seconds} seed=${SEED}`,
  );
  if (crashes > 0) process.exitCode = 1;
}
