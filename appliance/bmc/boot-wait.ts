// How long to wait for a machine to show up on the network after power-on: longer than it usually takes, but short enough to
// leave time for another boot method.

import { type Instant, MINUTE } from '../domain/instant.ts';

export interface BootWait {
  /** Multiplies the usual time: memory checks and firmware updates make a boot longer. */
  readonly factor: number;
  readonly least: number;
  readonly most: number;
  /** For a machine without earlier boots: servers take two to eight minutes. */
  readonly unknown: number;
}

export const BOOT_WAIT: BootWait = { factor: 2, least: 2 * MINUTE, most: 15 * MINUTE, unknown: 8 * MINUTE };

/** `earlier`: the durations of earlier boots of this machine, in milliseconds. The median ignores a single outlier. */
export function usualWait(earlier: readonly number[], { factor, least, most, unknown }: BootWait = BOOT_WAIT): number {
  const sorted = [...earlier].sort((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length / 2)];
  return usual === undefined ? unknown : Math.min(most, Math.max(least, usual * factor));
}

/** The least part of a wait: five of eight minutes for an unknown machine, a quarter more than usual for the others. */
const LEAST_PART = 5 / 8;

/**
 * The wait of this attempt: the time until the deadline is shared with the later attempts and with the work that starts once the
 * machine shows up. Null: too little time is left for the machine to boot.
 */
export function waitShare(
  wait: number,
  left: {
    readonly deadline: Instant | null;
    readonly now: Instant;
    readonly triesLeft: number;
    readonly first: boolean;
  },
): number | null {
  if (left.deadline === null) return wait;
  const time = Math.max(0, left.deadline - left.now);
  const least = wait * LEAST_PART;
  if (time < least && !left.first) return null;
  return Math.min(time, wait, Math.max(least, time / (left.triesLeft + 1)));
}
