// Timeouts and size limits of the driver.

import { MINUTE, SECOND } from '../../domain/instant.ts';

export interface RedfishLimits {
  readonly connect: number;
  /** One request and its complete reply. iDRAC takes half a minute for some. */
  readonly exchange: number;
  /** A verb with all its retries and waits. */
  readonly verb: number;
  /** How long temporary refusals are retried: the BMC is starting, or its machine is in its self-test. */
  readonly retry: number;
  /** How long the BMC may show the old value after it accepted a change. */
  readonly settle: number;
  /** Large machines take this long to power off. */
  readonly power: number;
  readonly task: number;
  /** An idle session is closed after this; BMCs have few. */
  readonly idle: number;
  /** For the logout from a BMC that may no longer be reachable. */
  readonly logout: number;
  readonly replyBytes: number;
  /** All replies of one verb: a collection is many pages, and each of them may be large. */
  readonly verbBytes: number;
}

export const DEFAULT_LIMITS: RedfishLimits = {
  connect: 10 * SECOND,
  exchange: MINUTE,
  verb: 5 * MINUTE,
  retry: 2 * MINUTE,
  settle: 15 * SECOND,
  power: 90 * SECOND,
  task: 3 * MINUTE,
  idle: 5 * SECOND,
  logout: 10 * SECOND,
  replyBytes: 8 * 1024 * 1024,
  verbBytes: 64 * 1024 * 1024,
};
