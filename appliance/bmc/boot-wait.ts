// How long to wait for a machine to show up on the network after it was started: as long as it usually takes, and some more, and
// not so long that no time is left for another way.

import { type Instant, MINUTE } from '../domain/instant.ts';

export interface Patience {
  /** The usual time is multiplied by this: memory checks and firmware updates make a start longer. */
  readonly factor: number;
  readonly least: number;
  readonly most: number;
  /** Nothing is known about the machine yet: servers take two to eight minutes. */
  readonly unknown: number;
}

export const PATIENCE: Patience = { factor: 2, least: 2 * MINUTE, most: 15 * MINUTE, unknown: 8 * MINUTE };

/** `earlier`: how long starts of this machine took, in milliseconds. One odd start does not move the middle. */
export function waitFor(earlier: readonly number[], { factor, least, most, unknown }: Patience = PATIENCE): number {
  const sorted = [...earlier].sort((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length / 2)];
  return usual === undefined ? unknown : Math.min(most, Math.max(least, usual * factor));
}

/** What a wait can do without: five minutes of eight for a machine that nobody knows, a quarter more than usual for the others. */
const BARE_WAIT = 5 / 8;

/**
 * The wait of this try: what is left until the deadline is shared with the tries after it and with the work that begins once the
 * machine was seen. Null: a further try would be cut short before the machine can have come up.
 */
export function shareOf(
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
  const bare = wait * BARE_WAIT;
  if (time < bare && !left.first) return null;
  return Math.min(time, wait, Math.max(bare, time / (left.triesLeft + 1)));
}
