// How patient the driver is, and how much it takes in.

import { MINUTE, SECOND } from '../../domain/instant.ts';

export interface RedfishLimits {
  readonly connect: number;
  /** One request and its whole answer. iDRAC takes half a minute for some. */
  readonly exchange: number;
  /** A verb, with every retry and every wait in it. */
  readonly verb: number;
  /** How long a BMC may say "not now": starting itself, or its machine in self-test. */
  readonly patience: number;
  /** How long it may show the old value of something it accepted. */
  readonly settle: number;
  /** Big machines take this long to let go of their power supplies. */
  readonly power: number;
  readonly task: number;
  /** A session that nobody uses is given back after this; BMCs have few. */
  readonly idle: number;
  /** For giving it back to a BMC that may no longer be there. */
  readonly farewell: number;
  readonly answerBytes: number;
}

export const DEFAULT_LIMITS: RedfishLimits = {
  connect: 10 * SECOND,
  exchange: MINUTE,
  verb: 5 * MINUTE,
  patience: 2 * MINUTE,
  settle: 15 * SECOND,
  power: 90 * SECOND,
  task: 3 * MINUTE,
  idle: 5 * SECOND,
  farewell: 10 * SECOND,
  answerBytes: 8 * 1024 * 1024,
};
