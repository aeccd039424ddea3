// What the driver needs from outside.

import { type BmcClock, bmcSystemClock } from '../clock.ts';
import type { CertificatePins } from './certificate-pin.ts';
import { DEFAULT_LIMITS, type RedfishLimits } from './limits.ts';
import { type OpenLink, openHttpsLink } from './link.ts';

export interface RedfishTools {
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
  readonly pins: CertificatePins;
  readonly openLink: OpenLink;
}

export const redfishTools = (pins: CertificatePins): RedfishTools => ({
  clock: bmcSystemClock,
  limits: DEFAULT_LIMITS,
  pins,
  openLink: openHttpsLink,
});
