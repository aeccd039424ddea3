// The highest rate at which the server loses nothing and perfdhcp keeps up: doubled until one of them fails, then narrowed by bisection.

import type { Step } from './perfdhcp.ts';

/** A few packets that the measuring host itself was too busy for. */
const TOLERATED = 0.001;
const NARROWINGS = 4;
/** Started of requested, and completed of started; below this, perfdhcp itself is the limit. */
const KEPT_UP = 0.85;

export interface Search {
  /** Completed per second at the highest rate without loss; 0 when there is none. */
  readonly lossless: number;
  /** The most that were completed in a second at any rate. */
  readonly most: number;
  readonly limitedBy: 'server' | 'perfdhcp';
}

export async function highestRate(from: number, measure: (rate: number) => Promise<Step>): Promise<Search> {
  let most = 0;
  let lossless = 0;
  let good = 0;
  let limitedBy: Search['limitedBy'] = 'server';
  const holds = async (rate: number): Promise<boolean> => {
    // A single slow moment of the host is not the server's limit.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const step = await measure(rate);
      most = Math.max(most, step.completed);
      const answered = step.unanswered <= TOLERATED;
      const keptUp = step.begun >= step.requested * KEPT_UP && step.completed >= step.begun * KEPT_UP;
      if (answered && keptUp) {
        good = Math.max(good, rate);
        lossless = Math.max(lossless, step.completed);
        return true;
      }
      limitedBy = answered ? 'perfdhcp' : 'server';
    }
    return false;
  };

  let bad = from;
  while (await holds(bad)) bad *= 2;
  for (let narrowing = 0; good > 0 && narrowing < NARROWINGS; narrowing++) {
    const between = Math.round((good + bad) / 2);
    if (!(await holds(between))) bad = between;
  }
  return { lossless, most, limitedBy };
}
