// `npm run mutants`: puts one deliberate fault at a time into a copy of the tree and runs the tests that must detect it. A fault
// that no test detects shows a gap in the tests. Not part of `npm test`; list.test.ts keeps the list current.
//
//   npm run mutants                                  all, in a few minutes
//   npm run mutants -- --only store-                 those whose name contains this; may be repeated
//   npm run mutants -- --jobs 4 --limit 300          four at a time, 300 seconds for each
//
// Ends with one line and with exit code 1 when fewer than 95 % are noticed, when an entry does not apply (its source text is not in
// its file exactly once, or no test ran), or when the tests fail without any fault.
//
// To add one: an entry in faults/, with a realistic fault that changes the behaviour. Run it with
// `--only`. When it survives, write the test.

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { MUTANTS } from './list.ts';
import type { Mutant } from './mutant.ts';
import { type Result, summaryOf, verdictOf } from './verdict.ts';
import { Workspace } from './workspace.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    jobs: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    limit: { type: 'string', default: '180' },
  },
});
const chosen = MUTANTS.filter(({ name }) => values.only?.some((part) => name.includes(part)) ?? true);
const jobs = Number(values.jobs);
const limitMs = Number(values.limit) * 1000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const MARKS = { noticed: 'noticed ', survived: 'SURVIVED', 'does not apply': 'NOT THERE' } as const;

function show({ mutant, verdict, detail }: Result): void {
  print(`${MARKS[verdict]}  ${mutant.name}: ${detail}`);
  if (verdict !== 'noticed') print(`          ${mutant.file}: ${mutant.why}`);
}

/** A test that fails without the fault detects nothing. */
async function failingWithoutFault(workspace: Workspace): Promise<string | null> {
  const whole = chosen.filter(({ titled }) => titled === undefined).flatMap(({ tests }) => tests);
  const runs = new Map<string, Pick<Mutant, 'tests' | 'titled'>>();
  if (whole.length > 0) runs.set('', { tests: [...new Set(whole)] });
  for (const { tests, titled } of chosen)
    if (titled !== undefined) runs.set([...tests, titled].join(), { tests, titled });
  for (const { tests, titled } of runs.values()) {
    const { verdict, detail } = verdictOf(await workspace.run(tests, titled, limitMs * tests.length));
    if (verdict !== 'survived' || detail !== 'all tests passed') return `${verdict}: ${detail}`;
  }
  return null;
}

async function main(workspaces: readonly Workspace[]): Promise<0 | 1> {
  const [first] = workspaces;
  const failing = first ? await failingWithoutFault(first) : 'the number of jobs is 0';
  if (failing !== null) {
    print(`The tests fail without any fault: ${failing}`);
    return 1;
  }
  const waiting = [...chosen];
  const results: Result[] = [];
  await Promise.all(
    workspaces.map(async (workspace) => {
      for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
        const result = await workspace.check(mutant);
        results.push(result);
        show(result);
      }
    }),
  );
  const { line, exitCode } = summaryOf(results);
  print(line);
  return exitCode;
}

if (chosen.length === 0 || !Number.isInteger(jobs) || jobs < 1 || !(limitMs > 0)) {
  process.stderr.write('usage: npm run mutants -- [--only PART_OF_A_NAME]… [--jobs N] [--limit SECONDS]\n');
  process.exitCode = 2;
} else {
  const workspaces = Array.from({ length: Math.min(jobs, chosen.length) }, () => new Workspace(limitMs));
  const remove = (): void => {
    for (const workspace of workspaces) workspace.remove();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      remove();
      process.exit(130);
    });
  }
  try {
    process.exitCode = await main(workspaces);
  } finally {
    remove();
  }
}
