// Every verb against our simulator, over real sockets.

import { describe, expect, it, onTestFinished } from 'vitest';
import { withIpmiSession } from '../../../appliance/bmc/ipmi/connection.ts';
import { deleteEvent } from '../../../appliance/bmc/ipmi/event-log.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { putUser, setPassword } from '../../../appliance/bmc/ipmi/users.ts';
import { getSensorRepositoryInfo } from '../../../appliance/codecs/ipmi/commands/sensor-repository.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { PATIENT, RACING, startSimulator, targetOf } from './client-rig.ts';
import type { SimulatorOptions } from './simulator/simulated-bmc.ts';

async function rig(options: SimulatorOptions = {}, tools = RACING) {
  const simulator = await startSimulator(options);
  const target = targetOf(simulator.port, undefined, options.bmcKey ?? null);
  const bmc = ipmiBmc(target, { efi: true, keepFor: 0 }, tools);
  onTestFinished(() => bmc.close());
  return { simulator, target, bmc };
}

describe.each<[string, SimulatorOptions]>([
  ['suite 17', {}],
  ['suite 3 only', { suites: [3] }],
  ['suite 17 with a BMC key', { bmcKey: 'twenty bytes of key!' }],
  ['suite 3 with a BMC key', { suites: [3], bmcKey: 'short key' }],
])('power over %s', (_name, options) => {
  it('is told, and goes on and off', async () => {
    const { bmc, simulator } = await rig(options);
    expect(await bmc.powerState()).toBe('off');
    await bmc.powerOn();
    expect(await bmc.powerState()).toBe('on');
    await bmc.powerOff();
    expect(await bmc.powerState()).toBe('off');
    expect(simulator.machine.controls).toEqual([1, 0]);
    expect(simulator.activeSessions).toBe(0);
  });
});

describe('power', () => {
  it('that is as wanted already is left alone', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerOff();
    await bmc.powerOn();
    await bmc.powerOn();
    expect(simulator.machine.controls).toEqual([1]);
  });

  it('cycles by going off and on, and just on when it was off', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerCycle();
    await bmc.powerCycle();
    expect(simulator.machine.controls).toEqual([1, 0, 1]);
  });

  it('resets a machine that is on and starts one that is off', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerReset();
    await bmc.powerReset();
    await bmc.powerSoft();
    await bmc.powerSoft();
    expect(simulator.machine.controls).toEqual([1, 3, 5]);
  });

  it('that the BMC accepts and does not switch is called out', async () => {
    const { bmc, simulator } = await rig();
    simulator.lies.ignoresPower = true;
    await expect(bmc.powerOn()).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringContaining('the BMC accepted power on'),
    });
    expect(simulator.activeSessions).toBe(0);
  });
});

describe('the boot device', () => {
  it('is set for once, with the UEFI bit, and read back', async () => {
    const { bmc, simulator } = await rig();
    await bmc.setBoot({ device: 'network', persistent: false, firmware: null });
    expect(simulator.machine.bootParameters.get(5)).toEqual([0xa0, 0x04, 0, 0, 0]);
    expect(simulator.machine.bootParameters.get(0)).toEqual([0]);
    expect(simulator.machine.bootParameters.get(3)).toEqual([0x08]);
    expect(simulator.machine.controls).toEqual([]);
  });

  it('is set for good, and for legacy firmware', async () => {
    const { bmc, simulator } = await rig();
    expect(await bmc.setBoot({ device: 'disk', persistent: true, firmware: 'legacy' })).toEqual({
      device: 'disk',
      differences: [],
    });
    expect(simulator.machine.bootParameters.get(5)).toEqual([0xc0, 0x08, 0, 0, 0]);
  });

  it('that reads back as another one is called out', async () => {
    const { bmc, simulator } = await rig();
    simulator.lies.bootReadBack = [0xa0, 0x08, 0, 0, 0];
    await expect(bmc.setBoot({ device: 'network', persistent: false, firmware: null })).rejects.toThrow(
      'accepted boot device network, and shows disk',
    );
    expect(simulator.activeSessions).toBe(0);
  });

  it('whose other bits are lost is reported with them', async () => {
    const { bmc, simulator } = await rig();
    simulator.lies.bootReadBack = [0x00, 0x04, 0, 0, 0];
    const { differences } = await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
    expect(differences).toEqual(['valid is false, set was true', 'efi is false, set was true']);
  });
});

describe('the boot device of a Supermicro', () => {
  it.each([
    ['UEFI', 'efi', [0xa0, 0x24, 0, 0, 0]],
    ['legacy', 'legacy', [0x80, 0x08, 0, 0, 0]],
  ] as const)('is its disk under the number that its %s firmware knows', async (_name, firmware, flags) => {
    const { bmc, simulator } = await rig();
    const choice = { device: 'disk', persistent: false, firmware } as const;
    expect(await bmc.setBoot(choice)).toEqual({ device: 'disk', differences: [] });
    expect(simulator.machine.bootParameters.get(5)).toEqual(flags);
  });
});

describe('the identity', () => {
  it('is what the vendor wrote into the machine, and the firmware of the BMC', async () => {
    const { bmc } = await rig();
    expect(await bmc.identity()).toEqual({
      vendor: 'Ironworks',
      product: 'Anvil 2',
      firmware: '2.34',
      serial: 'SN42',
    });
  });

  it.each([
    ['there is nothing written', new Uint8Array()],
    ['what is written is damaged', Uint8Array.of(1, 0, 1, 0, 0, 0, 0, 0x55)],
  ])('is the word of the BMC where %s', async (_what, fru) => {
    const { bmc, simulator } = await rig();
    simulator.machine.fru = fru;
    const identity = await bmc.identity();
    expect(identity).toEqual({ vendor: 'Supermicro', product: 'product 2064', firmware: '2.34', serial: null });
  });
});

describe('the rest of what a BMC knows', () => {
  it('is its event log', async () => {
    const { bmc, simulator, target } = await rig();
    expect(await bmc.eventLog()).toEqual([
      {
        id: '1',
        at: 0x65000000 * 1000,
        severity: 'ok',
        message: "sensor 0x01 (system event): vendor's boot event",
      },
      {
        id: '2',
        at: 0x65000010 * 1000,
        severity: 'ok',
        message: 'Inlet Temp (temperature): no longer upper critical, going high at 127.5 °C (threshold 127.5 °C)',
      },
    ]);
    await withIpmiSession(target, RACING, (connection) => deleteEvent(connection, 1));
    expect((await bmc.eventLog()).map(({ id }) => id)).toEqual(['2']);
    await bmc.clearEventLog();
    expect(await bmc.eventLog()).toEqual([]);
    expect(simulator.machine.events).toEqual([]);
  });

  it.each([255, 20, 10])('is its sensors, where it sends %i bytes at most', async (largestRead) => {
    const { bmc, simulator, target } = await rig();
    simulator.lies.largestRead = largestRead;
    expect(await bmc.sensors()).toEqual([
      { name: 'Inlet Temp', kind: 'temperature', value: 23, unit: '°C', health: 'ok', states: [] },
      { name: 'Vcore', kind: 'voltage', value: 1.2, unit: 'V', health: 'ok', states: [] },
      { name: 'Fan 1', kind: 'fan', value: 8400, unit: 'RPM', health: 'ok', states: [] },
      {
        name: 'Watchdog',
        kind: 'watchdog',
        value: null,
        unit: '',
        health: 'critical',
        states: ['timer expired: hard reset'],
      },
    ]);
    const info = await withIpmiSession(target, PATIENT, (connection) => connection.call(getSensorRepositoryInfo()));
    expect(info.records).toBe(4);
  });

  it.each([255, 6])('is its hardware, where it sends %i bytes at most', async (largestRead) => {
    const { bmc, simulator } = await rig();
    simulator.lies.largestRead = largestRead;
    expect(await bmc.hardware()).toMatchObject({
      board: { serial: 'BRD123' },
      product: { name: 'Anvil 2', serial: 'SN42' },
    });
  });

  it('is its light', async () => {
    const { bmc, simulator } = await rig();
    await bmc.identify({ seconds: 30 });
    expect(simulator.machine.identify).toEqual([30]);
    await bmc.identify('on');
    expect(simulator.machine.identify).toEqual([0, 1]);
  });

  it('is its users, whose passwords are set and tested', async () => {
    const { bmc, simulator, target } = await rig();
    expect((await bmc.users()).map(({ name, privilege }) => [name, privilege])).toContainEqual([
      'operator',
      'operator',
    ]);
    await withIpmiSession(target, PATIENT, async (connection) => {
      await setPassword(connection, 3, new Secret('a new one'));
      await putUser(connection, 1, {
        name: 'spare',
        password: new Secret('sixteen-bytes-or-more'.slice(0, 20)),
        privilege: 'user',
      });
      await expect(setPassword(connection, 3, new Secret('x'.repeat(21)))).rejects.toThrow('1 to 20 bytes');
    });
    expect(simulator.machine.users[2]).toMatchObject({ password: 'a new one' });
    expect(simulator.machine.users[0]).toMatchObject({ name: 'spare', privilege: 2, enabled: true });
  });

  it('is asked one thing at a time, in a session each', async () => {
    const { bmc, simulator } = await rig({ slots: 1 });
    const answers = await Promise.all([bmc.powerState(), bmc.eventLog(), bmc.powerState()]);
    expect(answers).toEqual(['off', expect.any(Array), 'off']);
    expect(simulator.activeSessions).toBe(0);
  });
});
