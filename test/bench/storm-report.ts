/** What the storm's clients tell when they are done. Times in milliseconds. */
export interface StormReport {
  /** Machines that got no answer after all repeats, or a wrong one. */
  readonly lost: number;
  /** The first of them, in words. */
  readonly failures: readonly string[];
  readonly resent: number;
  readonly seconds: number;
  readonly phases: readonly {
    readonly phase: string;
    readonly count: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  }[];
}
