/** The report of the storm's clients. Times in milliseconds. */
export interface StormReport {
  /** Machines that got no reply after all retries, or a wrong one. */
  readonly lost: number;
  /** The first failure, in words. */
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
