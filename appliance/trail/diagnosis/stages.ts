// The stages from power-on to an enrolled node, in order: what ends each one, and how long it may take before it is overdue.

import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';

interface StageMeaning {
  /** What the machine waits for in this stage. */
  readonly until: string;
  /** The time limit while too few runs of similar machines are known. */
  readonly allowed: Instant;
  /** A learned limit is never shorter: a busy machine or network is not a fault. */
  readonly atLeast: Instant;
}

export const STAGES = {
  power: { until: 'its first DHCP request', allowed: 8 * MINUTE, atLeast: 45 * SECOND },
  address: { until: 'an address by DHCP', allowed: 30 * SECOND, atLeast: 20 * SECOND },
  loader: { until: 'its boot loader to run', allowed: 40 * SECOND, atLeast: 30 * SECOND },
  script: { until: 'its boot script', allowed: 30 * SECOND, atLeast: 20 * SECOND },
  images: { until: 'kernel and initrd', allowed: 90 * SECOND, atLeast: 45 * SECOND },
  start: { until: 'the service OS to open its session', allowed: 90 * SECOND, atLeast: 60 * SECOND },
  work: { until: 'the next report of the service OS', allowed: 2 * MINUTE, atLeast: 2 * MINUTE },
  'first-boot': { until: 'the installed system to enroll', allowed: 8 * MINUTE, atLeast: 60 * SECOND },
} as const satisfies Readonly<Record<string, StageMeaning>>;

export type Stage = keyof typeof STAGES;
export const STAGE_ORDER = Object.keys(STAGES) as readonly Stage[];
export const isBefore = (one: Stage, other: Stage): boolean => STAGE_ORDER.indexOf(one) < STAGE_ORDER.indexOf(other);

/** Reports that repeat the same progress for longer than this count as a stall. */
export const PROGRESS_LIMIT: Instant = 3 * MINUTE;

/** What completed runs of similar machines took. */
export interface StageTimes {
  readonly median: Instant;
  /** Nine of ten runs took at most this long. */
  readonly p90: Instant;
  readonly samples: number;
}
export type ExpectedTimes = Readonly<Partial<Record<Stage, StageTimes>>>;

/** Fewer runs say nothing about the slowest of ten. */
export const ENOUGH_SAMPLES = 3;
/** Beyond the p90: variation between machines of one kind. */
const MARGIN = 1.5;

export function allowedTime(stage: Stage, expected: ExpectedTimes): Instant {
  const { allowed, atLeast } = STAGES[stage];
  const times = expected[stage];
  return times === undefined || times.samples < ENOUGH_SAMPLES ? allowed : Math.max(atLeast, times.p90 * MARGIN);
}

/** The nearest-rank percentiles of each stage. */
export function expectedTimes(runs: readonly Readonly<Partial<Record<Stage, Instant>>>[]): ExpectedTimes {
  const times: Partial<Record<Stage, StageTimes>> = {};
  for (const stage of STAGE_ORDER) {
    const sorted = runs.flatMap((run) => run[stage] ?? []).sort((a, b) => a - b);
    const median = ranked(sorted, 0.5);
    const p90 = ranked(sorted, 0.9);
    if (median !== undefined && p90 !== undefined) times[stage] = { median, p90, samples: sorted.length };
  }
  return times;
}

const ranked = (sorted: readonly Instant[], share: number): Instant | undefined =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
