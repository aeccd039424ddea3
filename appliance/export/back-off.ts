// How long to wait before a receiver is tried again. Pure: the random number is a parameter.

import { MINUTE, SECOND } from '../domain/instant.ts';

const FIRST = SECOND;
const LONGEST = 5 * MINUTE;
/** A receiver that asks for a longer pause is tried again after this one. */
const LONGEST_ASKED = 15 * MINUTE;

/**
 * After the given number of failures in a row: 1 s, doubling, at most 5 min. `random` in [0, 1) takes up to half of it away, so that
 * appliances that lost the same receiver do not all return at once. A receiver may ask for a longer pause (RFC 9110 §10.2.3).
 */
export function retryDelay(failures: number, random: number, asked: number | null): number {
  const full = Math.min(LONGEST, FIRST * 2 ** Math.min(30, Math.max(0, failures - 1)));
  const own = Math.round(full * (1 - random / 2));
  return Math.max(own, Math.min(asked ?? 0, LONGEST_ASKED));
}
