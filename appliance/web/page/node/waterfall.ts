// The stages of a boot on one time axis, beside what similar machines took. Pure.

import type { Answer } from '../../../contract/wire.ts';

type Timeline = Answer<'getNodeTimeline'>;

export interface Bar {
  readonly stage: string;
  readonly waitsFor: string;
  /** Shares of the axis, 0 to 1. */
  readonly start: number;
  readonly length: number;
  /** Null: no similar machine is known. */
  readonly median: number | null;
  readonly seconds: number;
  readonly medianSeconds: number | null;
  readonly samples: number;
  readonly running: boolean;
  /** Much longer than most: above p90 × 1.5, and by at least a second. */
  readonly slow: boolean;
}

export interface Waterfall {
  readonly bars: readonly Bar[];
  readonly totalSeconds: number;
}

const SLOW_FACTOR = 1.5;
const SLOW_SECONDS = 1;

export function waterfall({ stages, began, ended }: Timeline, now: number): Waterfall {
  const start = Date.parse(began ?? stages[0]?.began ?? '');
  if (Number.isNaN(start)) return { bars: [], totalSeconds: 0 };
  const lengthOf = (stage: Timeline['stages'][number]): number =>
    stage.seconds ?? Math.max(0, ((ended === null ? now : Date.parse(ended)) - Date.parse(stage.began)) / 1000);
  const ends = stages.map((stage) => {
    const at = (Date.parse(stage.began) - start) / 1000;
    return at + Math.max(lengthOf(stage), stage.expected?.median_seconds ?? 0);
  });
  const total = Math.max(...ends, 0.001);
  const bars = stages.map((stage): Bar => {
    const seconds = lengthOf(stage);
    const { expected } = stage;
    const slow =
      stage.overdue ||
      (expected !== null &&
        seconds > expected.p90_seconds * SLOW_FACTOR &&
        seconds - expected.p90_seconds >= SLOW_SECONDS);
    return {
      stage: stage.stage,
      waitsFor: stage.waits_for,
      start: Math.max(0, (Date.parse(stage.began) - start) / 1000 / total),
      length: seconds / total,
      median: expected === null ? null : expected.median_seconds / total,
      seconds,
      medianSeconds: expected?.median_seconds ?? null,
      samples: expected?.samples ?? 0,
      running: stage.ended === null && ended === null,
      slow,
    };
  });
  return { bars, totalSeconds: ((ended === null ? now : Date.parse(ended)) - start) / 1000 };
}
