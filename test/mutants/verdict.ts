// The verdict of a test run about a fault, and the summary of all verdicts.

import type { Mutant } from './mutant.ts';

export type Verdict =
  /** A test failed, as it should. */
  | 'noticed'
  /** All tests passed, or they timed out, which may have other causes. */
  | 'survived'
  /** The entry is wrong: the source text does not occur exactly once, no test ran, or the file with the fault does not load. */
  | 'does not apply';

export interface Result {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** The test that detected it, or why it does not apply. */
  readonly detail: string;
}

/** The part of Vitest's JSON report that matters. */
export interface TestReport {
  readonly testResults: readonly {
    readonly message?: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface TestRun {
  readonly timedOut: boolean;
  /** Null: no report was written. */
  readonly report: TestReport | null;
}

export function verdictOf({ timedOut, report }: TestRun): Pick<Result, 'verdict' | 'detail'> {
  if (timedOut) return { verdict: 'survived', detail: 'the tests timed out' };
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed) return { verdict: 'noticed', detail: failed.fullName };
  const broken = report?.testResults.find(({ status }) => status === 'failed');
  if (broken) return { verdict: 'does not apply', detail: `does not load: ${broken.message ?? ''}`.slice(0, 300) };
  const ran = tests.some(({ status }) => status === 'passed');
  return ran
    ? { verdict: 'survived', detail: 'all tests passed' }
    : { verdict: 'does not apply', detail: 'no test ran' };
}

const LEAST_PERCENT = 95;

export function summaryOf(results: readonly Result[]): { readonly line: string; readonly exitCode: 0 | 1 } {
  const count = (verdict: Verdict): number => results.filter((result) => result.verdict === verdict).length;
  const noticed = count('noticed');
  // Rounded down, so that 94.96 % does not read as 95.
  const percent = results.length === 0 ? 0 : Math.floor((noticed * 1000) / results.length) / 10;
  const line = `${results.length} faults: ${noticed} noticed (${percent} %), ${count('survived')} survived, ${count('does not apply')} do not apply`;
  return { line, exitCode: percent >= LEAST_PERCENT && count('does not apply') === 0 ? 0 : 1 };
}
