// Timeouts of a session. The defaults suit BMCs on a management network: slow, and sometimes busy for seconds.

import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';

export interface SessionTimings {
  /** The first timeout for a reply; each further one is `growth` times as long. */
  readonly firstWait: number;
  readonly growth: number;
  readonly tries: number;
  /** BMCs expire a session after 60 idle seconds (IPMI v2.0 §6.12.15). */
  readonly keepAliveAfter: number;
  /** Timeout of a verb with all its commands: an endless list would block all other verbs of the BMC. */
  readonly verb: number;
}

export const DEFAULT_TIMINGS: SessionTimings = {
  firstWait: SECOND,
  growth: 1.5,
  tries: 5,
  keepAliveAfter: 25 * SECOND,
  verb: 5 * MINUTE,
};

export const waitEnds = (timings: SessionTimings, triesBefore: number, now: Instant): Instant =>
  now + timings.firstWait * timings.growth ** triesBefore;

/** The total timeout of a command that may be sent only once. */
export const longWaitEnds = (timings: SessionTimings, now: Instant): Instant => {
  let end = now;
  for (let tried = 0; tried < timings.tries; tried++) end = waitEnds(timings, tried, end);
  return end;
};
