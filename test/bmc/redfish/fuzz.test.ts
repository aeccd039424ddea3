// Fuzzing: whatever a service replies, a verb ends with a result of its type or a BmcError, without secrets.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { type RedfishBmc, redfishBmc } from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { corruptingLink, numbers } from './corrupted-replies.ts';
import { ADMIN } from './mock/machine.ts';
import { MockService } from './mock/mock-service.ts';
import { VENDORS } from './mock/vendors.ts';
import { fastDeps } from './rig.ts';

const NEW_PASSWORD = 'Another-Horse-8';

type CheckedVerb = (bmc: RedfishBmc) => Promise<boolean>;

/** Safe for a log line. */
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= 1200 && !/\p{C}/u.test(value);
const isNumberOrNull = (value: unknown): boolean => value === null || Number.isFinite(value);
const nothing = (result: unknown): boolean => result === undefined;

/** Each verb, and whether its result has the declared type. */
const VERBS: Readonly<Record<string, CheckedVerb>> = {
  identity: async (bmc) => {
    const { vendor, product, firmware, serial } = await bmc.identity();
    return [vendor, product, firmware].every(isText) && (serial === null || isText(serial));
  },
  powerState: async (bmc) => ['on', 'off', 'unknown'].includes(await bmc.powerState()),
  powerOn: async (bmc) => nothing(await bmc.powerOn()),
  powerOff: async (bmc) => nothing(await bmc.powerOff()),
  powerCycle: async (bmc) => nothing(await bmc.powerCycle()),
  powerReset: async (bmc) => nothing(await bmc.powerReset()),
  powerSoft: async (bmc) => nothing(await bmc.powerSoft()),
  setBoot: async (bmc) => {
    const { device, differences } = await bmc.setBoot({ device: 'network', persistent: true, firmware: 'efi' });
    return device === 'network' && differences.every(isText);
  },
  identify: async (bmc) => nothing(await bmc.identify('on')),
  sensors: async (bmc) =>
    (await bmc.sensors()).every(
      ({ name, kind, value, unit, health, states }) =>
        [name, kind, unit, health, ...states].every(isText) && isNumberOrNull(value),
    ),
  eventLog: async (bmc) =>
    (await bmc.eventLog()).every(
      ({ id, at, severity, message }) => [id, severity, message].every(isText) && isNumberOrNull(at),
    ),
  clearEventLog: async (bmc) => nothing(await bmc.clearEventLog()),
  setOwnPassword: async (bmc) => nothing(await bmc.setOwnPassword(new Secret(NEW_PASSWORD))),
  virtualDrives: async (bmc) =>
    (await bmc.virtualDrives()).every(({ id, mediaTypes }) => [id, ...mediaTypes].every(isText)),
  insertMedia: async (bmc) => nothing(await bmc.insertMedia('http://192.0.2.1/a.iso', () => true)),
  ejectMedia: async (bmc) => nothing(await bmc.ejectMedia(() => true)),
};

const outcomes = { succeeded: 0, refused: 0 };

async function tryVerb(vendorName: keyof typeof VENDORS, verbName: string, seed: number): Promise<void> {
  const service = new MockService(VENDORS[vendorName]);
  const deps = { ...fastDeps(), openLink: corruptingLink(service, numbers(seed)) };
  const login = { address: '192.0.2.5', userName: ADMIN.name, password: new Secret(ADMIN.password) };
  const bmc = redfishBmc(login, {}, deps);
  try {
    expect(await VERBS[verbName]?.(bmc)).toBe(true);
    outcomes.succeeded += 1;
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    expect(error.message).toMatch(/^BMC 192\.0\.2\.5: /);
    expect(error.message).not.toMatch(new RegExp(`${ADMIN.password}|${NEW_PASSWORD}|token-`));
    expect(error.message.length).toBeLessThan(1500);
    outcomes.refused += 1;
  } finally {
    await bmc.close();
  }
}

describe.each(Object.keys(VERBS))('%s', (verb) => {
  it('survives corrupted replies', async () => {
    const vendors = fc.constantFrom(...(Object.keys(VENDORS) as (keyof typeof VENDORS)[]));
    await fc.assert(
      fc.asyncProperty(vendors, fc.integer(), (vendor, seed) => tryVerb(vendor, verb, seed)),
      { numRuns: 300, seed: 0x5eed },
    );
  });
});

describe('the corruption', () => {
  it('is neither harmless nor total', () => {
    expect(outcomes.succeeded).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(1000);
  });
});
