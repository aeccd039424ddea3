// Injects the faults of the catalogue into real runs in the virtual rack, and prints what `diagnose` answered first, whether that was
// right, and whether the machine went on after the next step. Needs root.

import { CATALOGUE, faultById } from '../faults/catalogue.ts';
import { learnTimes, needsTimes, runInLanes } from '../faults/lanes.ts';
import { FaultRack } from '../faults/rack.ts';
import { saveRecording } from '../faults/recordings.ts';
import { saveResult } from '../faults/results.ts';
import type { FaultResult } from '../faults/run-fault.ts';
import { say } from './figures.ts';

/**
 * `words`: ids of faults; none: all. `--record` replaces their recordings, `--no-recovery` leaves out the next steps,
 * `--lanes=N` works on at most N BIOS machines side by side, and after `--minutes=N` no further fault is injected.
 */
export async function benchFaults(words: readonly string[]): Promise<void> {
  const options = words.filter((word) => word.startsWith('--'));
  const ids = words.filter((word) => !word.startsWith('--'));
  const unknown = options.find((word) => !/^--(?:record|no-recovery|(?:minutes|lanes)=\d+)$/.test(word));
  if (unknown !== undefined)
    throw new Error(`faults takes ids, --record, --no-recovery, --lanes=N and --minutes=N, not ${unknown}`);
  const number = (name: string): number | undefined => {
    const text = options.find((word) => word.startsWith(`--${name}=`))?.replace(/^.*=/, '');
    return text === undefined ? undefined : Number(text);
  };
  const until = performance.now() + (number('minutes') ?? Number.POSITIVE_INFINITY) * 60_000;
  const faults = ids.length === 0 ? CATALOGUE : ids.map(faultById);
  const rack = await FaultRack.start();
  const results: FaultResult[] = [];
  const report = async (result: FaultResult): Promise<void> => {
    results.push(result);
    say(`${result.id}: ${result.answer ?? 'nothing'}${result.problem === null ? '' : ` (${result.problem})`}`);
    if (!options.includes('--record') || result.problem !== null) return;
    if (result.recording !== null) await saveRecording(result.id, result.recording);
    saveResult(result, new Date().toISOString().slice(0, 10));
  };
  try {
    if (faults.some(needsTimes)) {
      say('undisturbed commissionings');
      await learnTimes(rack);
    }
    const recover = !options.includes('--no-recovery');
    await runInLanes(rack, faults, {
      recover,
      lanes: number('lanes'),
      isInTime: () => performance.now() < until,
      report,
    });
  } finally {
    await rack.stop();
  }
  printResults(faults.flatMap(({ id }) => results.find((result) => result.id === id) ?? []));
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
