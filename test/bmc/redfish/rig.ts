// The driver for tests: a mock BMC on loopback, and a clock that skips every pause.

import { onTestFinished } from 'vitest';
import type { BmcClock } from '../../../appliance/bmc/clock.ts';
import type { CertificatePins } from '../../../appliance/bmc/redfish/certificate-pin.ts';
import { type RedfishDeps, redfishDeps } from '../../../appliance/bmc/redfish/deps.ts';
import {
  type RedfishBmc,
  type RedfishSettings,
  type RedfishTarget,
  redfishBmc,
} from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { HOUR, SECOND } from '../../../appliance/domain/instant.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN } from './mock/machine.ts';
import { MockServer } from './mock/mock-server.ts';
import type { MockService } from './mock/mock-service.ts';
import type { VendorProfile } from './mock/vendors.ts';

export class MemoryPins implements CertificatePins {
  readonly known = new Map<string, string>();

  pinned(address: string): string | null {
    return this.known.get(address) ?? null;
  }

  async remember(address: string, fingerprint: string): Promise<void> {
    this.known.set(address, fingerprint);
  }
}

/**
 * Pauses end at once and advance the clock; nothing else takes time. The results do not depend on the load of the machine.
 * Timers longer than a pause never fire: limits have their own tests.
 */
function leapingClock(): BmcClock {
  let now = Date.UTC(2024, 0, 1);
  return {
    now: () => now,
    wakeAt: (at, run) => {
      if (at - now > LONGEST_PAUSE) return () => undefined;
      const immediate = setImmediate(() => {
        now = Math.max(now, at);
        run();
      });
      return () => clearImmediate(immediate);
    },
  };
}

const LONGEST_PAUSE = 15 * SECOND;

/** Minutes of pauses pass at once; requests have no timeout. */
export function fastDeps(pins: CertificatePins = new MemoryPins()): RedfishDeps {
  const deps = redfishDeps(pins);
  const ample = { exchange: HOUR, verb: HOUR, idle: HOUR, logout: HOUR };
  return { ...deps, clock: leapingClock(), limits: { ...deps.limits, ...ample } };
}

/** The real clock, and short timeouts. */
export function shortTimeoutDeps(pins: CertificatePins = new MemoryPins()): RedfishDeps {
  const deps = redfishDeps(pins);
  return { ...deps, limits: { ...deps.limits, exchange: 3 * SECOND, idle: SECOND / 20, logout: SECOND } };
}

export async function startMock(vendor: VendorProfile): Promise<MockServer> {
  const mock = await MockServer.start(vendor);
  onTestFinished(() => mock.stop());
  return mock;
}

export const targetOf = (mock: MockServer, login = ADMIN): RedfishTarget => ({
  address: '127.0.0.1',
  port: mock.port,
  userName: login.name,
  password: new Secret(login.password),
});

export interface Rig {
  readonly mock: MockServer;
  readonly service: MockService;
  readonly bmc: RedfishBmc;
}

export async function rig(vendor: VendorProfile, settings: RedfishSettings = {}, deps = fastDeps()): Promise<Rig> {
  const mock = await startMock(vendor);
  const bmc = redfishBmc(targetOf(mock), settings, deps);
  onTestFinished(() => bmc.close());
  return { mock, service: mock.service, bmc };
}
