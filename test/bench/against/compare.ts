// `npm run bench -- all`, and `npm run bench -- NAME… --against REV`: the same benchmarks in this tree and in that of another
// commit, alternating, so that a slow minute of the machine affects both; then one table.

import { join } from 'node:path';
import { hasFixedWork } from './cpu-meter.ts';
import { BenchProcess, type BenchRun } from './measured-run.ts';
import { BenchError, hasFile, OldTree, refuseUncommitted, resolveCommit, shortName, uncommitted } from './old-tree.ts';
import { PRINTED, type PrintedFigure, type Reading } from './printed.ts';
import type { AskedBench, BenchOptions } from './read-options.ts';
import { comparisonTable, type FigureRuns, readmeTable } from './summary.ts';

const ROOT = join(import.meta.dirname, '../../..');

type TableOptions = Extract<BenchOptions, { kind: 'table' }>;
type Side = 'now' | 'before';

/** Which tree is measured when: each is first equally often. */
export const turnsOf = (rounds: number, hasOld: boolean): Side[] =>
  Array.from({ length: rounds }, (_, round): Side[] => {
    if (!hasOld) return ['now'];
    return round % 2 === 0 ? ['before', 'now'] : ['now', 'before'];
  }).flat();

export interface SidedRun {
  readonly side: Side;
  readonly run: BenchRun;
}

/** The figures of one benchmark. A run that failed counts for nothing. */
export function figureRuns(bench: string, runs: readonly SidedRun[], hasOld: boolean): FigureRuns[] {
  const good = runs.filter(({ run }) => run.failure === null);
  const of = (side: Side, read: (run: BenchRun) => Reading | null): Reading[] =>
    good.filter((each) => each.side === side).flatMap(({ run }) => read(run) ?? []);
  const both = (figure: FigureRuns['figure'], read: (run: BenchRun) => Reading | null): FigureRuns => ({
    figure,
    now: of('now', read),
    before: hasOld ? of('before', read) : null,
  });
  const printed = (PRINTED[bench] ?? []).map((figure) => both(figure, ({ output }) => figure.read(output)));
  return hasFixedWork(bench) && hasOld
    ? [...printed, both(wholeCpu(bench), ({ cpuSeconds: value }) => ({ value, peer: null }))]
    : printed;
}

/** The work of a run is fixed, so that this compares the cost of a unit of work, and of the start. */
const wholeCpu = (bench: string): Pick<PrintedFigure, 'label' | 'unit' | 'better'> => ({
  label: `${bench}: CPU of our processes in a whole run`,
  unit: 's',
  better: 'less',
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Resolves to the exit code. */
export async function printComparison(options: TableOptions): Promise<number> {
  const { against, dirty } = options;
  let tree: OldTree | null = null;
  const bench = new BenchProcess();
  const interrupted = (): void => void bench.end();
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted);
  try {
    if (against === null) return await printAll(options, bench, null);
    if (!dirty) refuseUncommitted(ROOT);
    const commit = resolveCommit(ROOT, against);
    const old = shortName(ROOT, commit);
    const isThere = ({ name }: AskedBench): boolean => hasFile(ROOT, commit, `test/bench/${name}.ts`);
    const [benches, missing] = [options.benches.filter(isThere), options.benches.filter((each) => !isThere(each))];
    for (const { name } of missing) say(`not compared: ${old} has no benchmark ${name}`);
    if (benches.length === 0) throw new BenchError(`${old} has none of these benchmarks: there is nothing to compare`);
    say(`checking out ${old}`);
    tree = OldTree.checkOut(ROOT, commit, say);
    return await printAll({ ...options, benches }, bench, { path: tree.path, name: old });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return bench.isEnded ? 130 : 1;
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    tree?.remove();
  }
}

async function printAll(
  { benches, rounds }: TableOptions,
  bench: BenchProcess,
  old: { readonly path: string; readonly name: string } | null,
): Promise<number> {
  const now =
    old === null ? 'this tree' : `${shortName(ROOT, 'HEAD')}${uncommitted(ROOT).length > 0 ? ' with changes' : ''}`;
  const all: FigureRuns[] = [];
  let failures = 0;
  for (const asked of benches) {
    const runs: SidedRun[] = [];
    const turns = turnsOf(rounds, old !== null);
    for (const [at, side] of turns.entries()) {
      const run = await bench.run(side === 'before' && old ? old.path : ROOT, asked);
      const name = side === 'before' ? (old?.name ?? '') : now;
      say(
        `${asked.name}, run ${at + 1} of ${turns.length}, ${name}: ${run.seconds.toFixed(0)} s${run.failure === null ? '' : ', failed'}`,
      );
      if (run.failure !== null) {
        failures += 1;
        process.stderr.write(`${asked.name} in ${name} ${run.failure}\n`);
      }
      runs.push({ side, run });
    }
    all.push(...figureRuns(asked.name, runs, old !== null));
  }
  const { lines, notCompared } = old === null ? readmeTable(all) : comparisonTable(all, old.name, now);
  say(['', ...lines, ''].join('\n'));
  for (const line of notCompared) say(`not compared: ${line}`);
  if (failures > 0) process.stderr.write(`${failures} runs failed; their figures are not in the table\n`);
  return failures > 0 || lines.length === 0 ? 1 : 0;
}
