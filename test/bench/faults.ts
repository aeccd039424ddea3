// Injects the faults of the catalogue into real runs in the virtual rack, and prints what `diagnose` answered first, whether that was
// right, and whether the machine went on after the next step. Needs root.

import { CATALOGUE, faultById } from '../faults/catalogue.ts';
import { type Fault, MACHINES } from '../faults/fault.ts';
import { FaultRack } from '../faults/rack.ts';
import { saveRecording } from '../faults/recordings.ts';
import { type FaultResult, type RunOptions, runFault } from '../faults/run-fault.ts';
import { say } from './figures.ts';

/**
 * `words`: ids of faults; none: all. `--record` replaces their recordings, `--no-recovery` leaves out the next steps, and after
 * `--minutes=N` no further fault is injected.
 */
export async function benchFaults(words: readonly string[]): Promise<void> {
  const options = words.filter((word) => word.startsWith('--'));
  const ids = words.filter((word) => !word.startsWith('--'));
  const unknown = options.find((word) => !/^--(?:record|no-recovery|minutes=\d+)$/.test(word));
  if (unknown !== undefined)
    throw new Error(`faults takes ids, --record, --no-recovery and --minutes=N, not ${unknown}`);
  const minutes = options.find((word) => word.startsWith('--minutes='))?.slice('--minutes='.length);
  const until = minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + Number(minutes) * 60_000;
  const faults = ids.length === 0 ? CATALOGUE : ids.map(faultById);
  const rack = await FaultRack.start();
  const results: FaultResult[] = [];
  const report = async (result: FaultResult): Promise<void> => {
    results.push(result);
    say(`${result.id}: ${result.answer ?? 'nothing'}${result.problem === null ? '' : ` (${result.problem})`}`);
    if (options.includes('--record') && result.recording !== null) await saveRecording(result.id, result.recording);
  };
  try {
    if (faults.some(needsTimes)) await learn(rack);
    const run: RunOptions = { recover: !options.includes('--no-recovery') };
    await inLanes(rack, faults, run, () => performance.now() < until, report);
  } finally {
    await rack.stop();
  }
  printResults(faults.flatMap(({ id }) => results.find((result) => result.id === id) ?? []));
}

/** A machine that sends nothing is overdue after eight minutes while no times are known. */
const LATE: ReadonlySet<string> = new Set(['no-discover', 'powered-off', 'boot-override-ignored', 'siblings-stopped']);
const needsTimes = ({ stage, right }: Fault): boolean => stage === 'power' && right.some((cause) => LATE.has(cause));

/** Three runs of similar machines: from then on the expected times of stages are known. */
async function learn({ rig }: FaultRack): Promise<void> {
  const names = FaultRack.machines('bios');
  say(`${names.join(', ')}: undisturbed commissionings`);
  await rig.json('commission', ...names, '--yes');
  for (const name of names) await rig.waitForState(name, 'ready', 15 * 60_000);
}

/** Each machine takes the next fault for its kind; faults that affect all machines come last, one after the other. */
async function inLanes(
  { rig }: FaultRack,
  faults: readonly Fault[],
  options: RunOptions,
  isInTime: () => boolean,
  report: (result: FaultResult) => Promise<void>,
): Promise<void> {
  await Promise.all(
    MACHINES.map(async (kind) => {
      const waiting = faults.filter((fault) => fault.machine === kind && !fault.alone);
      await Promise.all(
        FaultRack.machines(kind).map(async (node) => {
          for (let fault = waiting.shift(); fault && isInTime(); fault = waiting.shift()) {
            await report(await runFault(rig, fault, node, options));
          }
        }),
      );
    }),
  );
  for (const fault of faults.filter(({ alone }) => alone)) {
    const [node] = FaultRack.machines(fault.machine);
    if (node !== undefined && isInTime()) await report(await runFault(rig, fault, node, options));
  }
}

function printResults(results: readonly FaultResult[]): void {
  const rows = results.map(({ id, answer, right, harmful, recovered, seconds, problem }) => [
    `\`${id}\``,
    answer === null ? 'nothing is wrong' : `\`${answer}\``,
    problem === null ? `${right ? 'right' : 'wrong'}${harmful ? ', harmful' : ''}` : 'not injected',
    recovered === null ? '' : recovered ? 'yes' : 'no',
    seconds === null ? '' : seconds.toFixed(0),
  ]);
  const head = ['fault', 'first answer', 'right', 'recovered', 'seconds until the right answer'];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  process.stdout.write(line(head) + line(head.map(() => '---')) + rows.map(line).join(''));
  const count = (matches: (result: FaultResult) => boolean): number => results.filter(matches).length;
  const numbers = {
    tried: count(({ problem }) => problem === null),
    right: count(({ right }) => right),
    harmful: count(({ harmful }) => harmful),
    recovered: count(({ recovered }) => recovered === true),
  };
  const members = Object.entries(numbers).map(([key, value]) => `${key}=${value}`);
  process.stdout.write(`faults: ${members.join(' ')}\n`);
}
