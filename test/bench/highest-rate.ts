// The highest rate at which nothing is lost: doubled until something is, then narrowed down.

import type { Step } from './perfdhcp.ts';

/** A handful of packets that the measuring machine itself was too busy for. */
const TOLERATED = 0.001;
const NARROWINGS = 4;
/** Begun of those asked for; below this perfdhcp is what cannot go faster. */
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
  const holds = async (rate: number): Promise<Step | null> => {
    // A single bad moment of the machine is not the server's limit.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const step = await measure(rate);
      most = Math.max(most, step.completed);
      if (step.unanswered <= TOLERATED) {
        good = Math.max(good, rate);
        lossless = Math.max(lossless, step.completed);
        return step;
      }
    }
    return null;
  };

  let bad = from;
  for (;;) {
    const step = await holds(bad);
    if (step === null) break;
    if (step.begun < step.asked * KEPT_UP) return { lossless, most, limitedBy: 'perfdhcp' };
    bad *= 2;
  }
  if (good === 0) return { lossless, most, limitedBy: 'server' };
  for (let narrowing = 0; narrowing < NARROWINGS; narrowing++) {
    const between = Math.round((good + bad) / 2);
    if ((await holds(between)) === null) bad = between;
  }
  return { lossless, most, limitedBy: 'server' };
}
