// How patient a session is. The defaults suit BMCs on a management network: slow, and sometimes busy for seconds.

import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';

export interface SessionTimings {
  /** The first wait for an answer; each further one is `growth` times as long. */
  readonly firstWait: number;
  readonly growth: number;
  readonly tries: number;
  /** BMCs drop a session after 60 silent seconds (IPMI v2.0 §6.12.15). */
  readonly keepAliveAfter: number;
  /** A verb, with every command in it: a list that has no end would keep everybody else from the BMC. */
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

/** All the waits of something that may be sent only once. */
export const longWaitEnds = (timings: SessionTimings, now: Instant): Instant => {
  let end = now;
  for (let tried = 0; tried < timings.tries; tried++) end = waitEnds(timings, tried, end);
  return end;
};
