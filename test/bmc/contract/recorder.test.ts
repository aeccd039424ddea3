// The recorder fulfils the part of the contract that needs no BMC.

import { describe, expect, it } from 'vitest';
import { type Bmc, BOOT_DEVICES } from '../../../appliance/bmc/bmc.ts';
import { recorderBmc } from '../../../appliance/bmc/recorder.ts';
import { Secret } from '../../../appliance/domain/secret.ts';

const EVERY_VERB: Readonly<Record<keyof Bmc, (bmc: Bmc) => Promise<unknown>>> = {
  identity: (bmc) => bmc.identity(),
  networkCards: (bmc) => bmc.networkCards(),
  powerState: (bmc) => bmc.powerState(),
  powerOn: (bmc) => bmc.powerOn(),
  powerOff: (bmc) => bmc.powerOff(),
  powerCycle: (bmc) => bmc.powerCycle(),
  powerReset: (bmc) => bmc.powerReset(),
  powerSoft: (bmc) => bmc.powerSoft(),
  setBoot: (bmc) => bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' }),
  identify: (bmc) => bmc.identify('on'),
  sensors: (bmc) => bmc.sensors(),
  eventLog: (bmc) => bmc.eventLog(),
  clearEventLog: (bmc) => bmc.clearEventLog(),
  openConsole: (bmc) => bmc.openConsole({ steal: false }),
  setOwnPassword: (bmc) => bmc.setOwnPassword(new Secret('hunter2')),
  insertMedia: (bmc) => bmc.insertMedia('http://192.0.2.1/hunter2.iso', () => true),
  ejectMedia: (bmc) => bmc.ejectMedia(() => true),
  close: (bmc) => bmc.close(),
};

const READ_ONLY: readonly string[] = ['identity', 'networkCards', 'powerState', 'sensors', 'eventLog', 'close'];

describe('the recorder fulfils the BMC contract:', () => {
  it.each(Object.keys(EVERY_VERB) as (keyof Bmc)[])('records %s once if it changes something', async (verb) => {
    const actions: string[] = [];
    await EVERY_VERB[verb](recorderBmc((action) => actions.push(action)));
    expect(actions).toHaveLength(READ_ONLY.includes(verb) ? 0 : 1);
    expect(actions.join()).not.toContain('hunter2');
  });

  it('reads back the boot device that was set', async () => {
    const bmc = recorderBmc(() => undefined);
    for (const device of BOOT_DEVICES) {
      const readBack = await bmc.setBoot({ device, persistent: true, firmware: null });
      expect(readBack).toEqual({ device, differences: [] });
    }
  });

  it('returns unknown or empty values for queries', async () => {
    const bmc = recorderBmc(() => undefined);
    expect(await bmc.powerState()).toBe('unknown');
    expect(await bmc.identity()).toEqual({ vendor: 'unknown', product: 'unknown', firmware: 'unknown', serial: null });
    expect([await bmc.sensors(), await bmc.eventLog()]).toEqual([[], []]);
  });
});
