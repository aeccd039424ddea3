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

async function rig(options: SimulatorOptions = {}, deps = RACING) {
  const simulator = await startSimulator(options);
  const target = targetOf(simulator.port, undefined, options.bmcKey ?? null);
  const bmc = ipmiBmc(target, { efi: true, keepFor: 0 }, deps);
  onTestFinished(() => bmc.close());
  return { simulator, target, bmc };
}

describe.each<[string, SimulatorOptions]>([
  ['suite 17', {}],
  ['suite 3 only', { suites: [3] }],
  ['suite 17 with a BMC key', { bmcKey: 'twenty bytes of key!' }],
  ['suite 3 with a BMC key', { suites: [3], bmcKey: 'short key' }],
])('power over %s', (_name, options) => {
  it('is reported, and turns on and off', async () => {
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
  it('is not changed when it has the requested state', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerOff();
    await bmc.powerOn();
    await bmc.powerOn();
    expect(simulator.machine.controls).toEqual([1]);
  });

  it('cycles off and on, and turns just on when it was off', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerCycle();
    await bmc.powerCycle();
    expect(simulator.machine.controls).toEqual([1, 0, 1]);
  });

  it('resets a machine that is on and powers on one that is off', async () => {
    const { bmc, simulator } = await rig();
    await bmc.powerReset();
    await bmc.powerReset();
    await bmc.powerSoft();
    await bmc.powerSoft();
    expect(simulator.machine.controls).toEqual([1, 3, 5]);
  });

  it('that the BMC accepts and does not switch is an error', async () => {
    const { bmc, simulator } = await rig();
    simulator.faults.ignoresPower = true;
    await expect(bmc.powerOn()).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringContaining('the BMC accepted power on'),
    });
    expect(simulator.activeSessions).toBe(0);
  });
});

describe('the boot device', () => {
  it('is set for one boot, with the UEFI bit, and read back', async () => {
    const { bmc, simulator } = await rig();
    await bmc.setBoot({ device: 'network', persistent: false, firmware: null });
    expect(simulator.machine.bootParameters.get(5)).toEqual([0xa0, 0x04, 0, 0, 0]);
    expect(simulator.machine.bootParameters.get(0)).toEqual([0]);
    expect(simulator.machine.bootParameters.get(3)).toEqual([0x08]);
    expect(simulator.machine.controls).toEqual([]);
  });

  it('is set persistently, and for legacy firmware', async () => {
    const { bmc, simulator } = await rig();
    expect(await bmc.setBoot({ device: 'disk', persistent: true, firmware: 'legacy' })).toEqual({
      device: 'disk',
      differences: [],
    });
    expect(simulator.machine.bootParameters.get(5)).toEqual([0xc0, 0x08, 0, 0, 0]);
  });

  it('that reads back as another one is an error', async () => {
    const { bmc, simulator } = await rig();
    simulator.faults.bootReadBack = [0xa0, 0x08, 0, 0, 0];
    await expect(bmc.setBoot({ device: 'network', persistent: false, firmware: null })).rejects.toThrow(
      'accepted boot device network, but reads back disk',
    );
    expect(simulator.activeSessions).toBe(0);
  });

  it('reports other bits that were lost', async () => {
    const { bmc, simulator } = await rig();
    simulator.faults.bootReadBack = [0x00, 0x04, 0, 0, 0];
    const { differences } = await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
    expect(differences).toEqual([
      'valid reads back as false, requested was true',
      'efi reads back as false, requested was true',
    ]);
  });
});

describe('the boot device of a Supermicro', () => {
  it.each([
    ['UEFI', 'efi', [0xa0, 0x24, 0, 0, 0]],
    ['legacy', 'legacy', [0x80, 0x08, 0, 0, 0]],
  ] as const)('is its disk with the number that its %s firmware uses', async (_name, firmware, flags) => {
    const { bmc, simulator } = await rig();
    const choice = { device: 'disk', persistent: false, firmware } as const;
    expect(await bmc.setBoot(choice)).toEqual({ device: 'disk', differences: [] });
    expect(simulator.machine.bootParameters.get(5)).toEqual(flags);
  });
});

describe('the identity', () => {
  it('comes from the FRU inventory, with the firmware version of the BMC', async () => {
    const { bmc } = await rig();
    expect(await bmc.identity()).toEqual({
      vendor: 'Ironworks',
      product: 'Anvil 2',
      firmware: '2.34',
      serial: 'SN42',
    });
  });

  it.each([
    ['the FRU inventory is empty', new Uint8Array()],
    ['the FRU inventory is damaged', Uint8Array.of(1, 0, 1, 0, 0, 0, 0, 0x55)],
  ])('comes from the device id when %s', async (_what, fru) => {
    const { bmc, simulator } = await rig();
    simulator.machine.fru = fru;
    const identity = await bmc.identity();
    expect(identity).toEqual({ vendor: 'Supermicro', product: 'product 2064', firmware: '2.34', serial: null });
  });
});

describe('the other verbs', () => {
  it('read, delete and clear the event log', async () => {
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

  it.each([255, 20, 10])('read the sensors when the BMC sends at most %i bytes', async (largestRead) => {
    const { bmc, simulator, target } = await rig();
    simulator.faults.largestRead = largestRead;
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

  it.each([255, 6])('read the hardware when the BMC sends at most %i bytes', async (largestRead) => {
    const { bmc, simulator } = await rig();
    simulator.faults.largestRead = largestRead;
    expect(await bmc.hardware()).toMatchObject({
      board: { serial: 'BRD123' },
      product: { name: 'Anvil 2', serial: 'SN42' },
    });
  });

  it('set the identify light', async () => {
    const { bmc, simulator } = await rig();
    await bmc.identify({ seconds: 30 });
    expect(simulator.machine.identify).toEqual([30]);
    await bmc.identify('on');
    expect(simulator.machine.identify).toEqual([0, 1]);
  });

  it('list users, and set and test their passwords', async () => {
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

  it('run one at a time, in one session each', async () => {
    const { bmc, simulator } = await rig({ slots: 1 });
    const answers = await Promise.all([bmc.powerState(), bmc.eventLog(), bmc.powerState()]);
    expect(answers).toEqual(['off', expect.any(Array), 'off']);
    expect(simulator.activeSessions).toBe(0);
  });
});
