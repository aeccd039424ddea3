// The results of the last recorded runs: what the first answer was, how long it took, and whether the machine went on after the
// next step. `npm run bench -- faults --record` writes them.

import { readFileSync, writeFileSync } from 'node:fs';
import type { FaultResult } from './run-fault.ts';

const FILE = new URL('results.json', import.meta.url);

export interface RecordedResult {
  /** The day of the run. */
  readonly run: string;
  /** Null: "nothing is wrong"; `refused`: the work was not started. */
  readonly answer: string | null;
  /** From the stall to the right answer. */
  readonly seconds: number | null;
  /** Null: there is nothing to recover, or it was not tried. */
  readonly recovered: boolean | null;
}
export type RecordedResults = Readonly<Record<string, RecordedResult>>;

export const recordedResults = (): RecordedResults => JSON.parse(readFileSync(FILE, 'utf8')) as RecordedResults;

export function saveResult({ id, answer, seconds, recovered }: FaultResult, run: string): void {
  const result = { run, answer, seconds: seconds === null ? null : Math.round(seconds), recovered };
  const all = Object.entries({ ...recordedResults(), [id]: result }).sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}
