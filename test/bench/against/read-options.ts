// The command line of `npm run bench`: which benchmarks, alone or against another revision.

import { parseArgs } from 'node:util';
import { ALL, PRINTED } from './printed.ts';

export interface AskedBench {
  readonly name: string;
  /** `fuzz=1000000`: with another number of rounds than usual, where the benchmark counts rounds. */
  readonly count: number | null;
}

export type BenchOptions =
  /** Each once, in this process, with its own output. */
  | { readonly kind: 'run'; readonly benches: readonly AskedBench[] }
  /** Each several times in processes of their own, and one table. `against` null: only this tree. */
  | {
      readonly kind: 'table';
      readonly benches: readonly AskedBench[];
      readonly against: string | null;
      readonly rounds: number;
      /** Measure uncommitted changes, too. */
      readonly dirty: boolean;
    }
  | { readonly kind: 'wrong'; readonly reason: string };

const DEFAULT_ROUNDS = 3;
const MOST_ROUNDS = 100;

export const USAGE = `usage: npm run bench -- NAME…                          run them here, with all their output
       npm run bench -- NAME… --against REV [--rounds N] [--dirty]
       npm run bench -- faults [ID…] [--record] [--no-recovery] [--minutes=N]   in a virtual rack
       npm run bench -- all [--against REV] [--rounds N]   one table in Markdown
  NAME      one of ${Object.keys(PRINTED).sort().join(', ')}; fuzz=COUNT sets the number of inputs, apply=COUNT of nodes
  all       ${ALL.join(', ')}
  --against also measure the tree of this commit, alternating with this one
  --rounds  how often each is measured, ${DEFAULT_ROUNDS} unless said otherwise
  --dirty   with uncommitted changes
`;

const wrong = (reason: string): BenchOptions => ({ kind: 'wrong', reason });

export function readOptions(words: readonly string[]): BenchOptions {
  const read = parsed(words);
  if (typeof read === 'string') return wrong(read);
  const { values, positionals } = read;
  if (positionals.length === 0) return wrong('no benchmark is named');
  const all = positionals.includes('all');
  if (all && positionals.length > 1) return wrong('"all" stands alone');
  const asked = all ? ALL.map((name) => ({ name, count: null })) : positionals.map(askedBench);
  const refused = asked.find((bench) => typeof bench === 'string');
  if (refused !== undefined) return wrong(refused);
  const benches = asked.filter((bench) => typeof bench !== 'string');
  const twice = benches.find(({ name }, at) => benches.findIndex((other) => other.name === name) !== at);
  if (twice) return wrong(`${twice.name} is named twice`);
  const against = values.against ?? null;
  if (against === '') return wrong('--against needs a revision');
  const rounds = Number(values.rounds ?? DEFAULT_ROUNDS);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MOST_ROUNDS)
    return wrong(`--rounds must be a whole number from 1 to ${MOST_ROUNDS}, not "${values.rounds}"`);
  if (against === null && values.dirty) return wrong('--dirty belongs to --against');
  if (against === null && !all && values.rounds === undefined) return { kind: 'run', benches };
  return { kind: 'table', benches, against, rounds, dirty: values.dirty ?? false };
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { against: { type: 'string' }, rounds: { type: 'string' }, dirty: { type: 'boolean' } },
    });
  } catch (error) {
    return (error as Error).message;
  }
}

function askedBench(word: string): AskedBench | string {
  const [name = '', count, ...rest] = word.split('=');
  if (!Object.hasOwn(PRINTED, name)) return `there is no benchmark "${name}"`;
  if (count === undefined) return { name, count: null };
  const number = Number(count);
  if (rest.length > 0 || !Number.isSafeInteger(number) || number < 1)
    return `the count of ${name} must be a whole number, not "${[count, ...rest].join('=')}"`;
  return { name, count: number };
}
