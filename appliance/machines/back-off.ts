// How long to wait before the next retry.

import { MINUTE, SECOND } from '../domain/instant.ts';

const FIRST = 2 * SECOND;
const LONGEST = 5 * MINUTE;

/** Attempts of one effect before it fails: 13 and a half minutes, enough for a BMC that restarts. */
export const MAX_ATTEMPTS = 10;

/** After the given number of failed attempts: 2 s, doubling, at most 5 min. */
export const backOff = (failedTries: number): number => Math.min(LONGEST, FIRST * 2 ** Math.max(0, failedTries - 1));
