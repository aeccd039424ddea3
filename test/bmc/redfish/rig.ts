// The driver as tests use it: a mock BMC on loopback, and a clock that leaps over every pause.

import { onTestFinished } from 'vitest';
import type { BmcClock } from '../../../appliance/bmc/clock.ts';
import type { CertificatePins } from '../../../appliance/bmc/redfish/certificate-pin.ts';
import {
  type RedfishBmc,
  type RedfishSettings,
  type RedfishTarget,
  redfishBmc,
} from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { type RedfishTools, redfishTools } from '../../../appliance/bmc/redfish/tools.ts';
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
 * Pauses are over at once, and by then it is later; nothing else takes any time. What a test sees does not depend on how busy
 * the machine is that it runs on. What takes longer than a pause never comes: limits are for tests of their own.
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

/** Minutes of waiting pass at once; a request has as long as it needs. */
export function racingTools(pins: CertificatePins = new MemoryPins()): RedfishTools {
  const tools = redfishTools(pins);
  const ample = { exchange: HOUR, verb: HOUR, idle: HOUR, farewell: HOUR };
  return { ...tools, clock: leapingClock(), limits: { ...tools.limits, ...ample } };
}

/** The real clock, and little patience. */
export function impatientTools(pins: CertificatePins = new MemoryPins()): RedfishTools {
  const tools = redfishTools(pins);
  return { ...tools, limits: { ...tools.limits, exchange: 3 * SECOND, idle: SECOND / 20, farewell: SECOND } };
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

export async function rig(vendor: VendorProfile, settings: RedfishSettings = {}, tools = racingTools()): Promise<Rig> {
  const mock = await startMock(vendor);
  const bmc = redfishBmc(targetOf(mock), settings, tools);
  onTestFinished(() => bmc.close());
  return { mock, service: mock.service, bmc };
}
