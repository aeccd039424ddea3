// The dependencies of the driver.

import { type BmcClock, bmcSystemClock } from '../clock.ts';
import type { CertificatePins } from './certificate-pin.ts';
import { DEFAULT_LIMITS, type RedfishLimits } from './limits.ts';
import { type OpenLink, openHttpsLink } from './link.ts';

export interface RedfishDeps {
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
  readonly pins: CertificatePins;
  readonly openLink: OpenLink;
}

export const redfishDeps = (pins: CertificatePins): RedfishDeps => ({
  clock: bmcSystemClock,
  limits: DEFAULT_LIMITS,
  pins,
  openLink: openHttpsLink,
});
