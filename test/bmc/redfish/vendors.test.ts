// Every verb against every kind of service, each with the quirks of its vendor. The tests check what the machine did.

import { describe, expect, it } from 'vitest';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN } from './mock/machine.ts';
import { VENDORS } from './mock/vendors.ts';
import { rig } from './rig.ts';

const IMAGE = 'http://192.0.2.10/boot/rescue.iso';
const never = (): boolean => false;
const ONCE = { persistent: false, firmware: 'efi' } as const;

describe.each(Object.values(VENDORS))('$name', (vendor) => {
  it('is identified', async () => {
    const { bmc } = await rig(vendor);
    expect(await bmc.identity()).toEqual({
      vendor: vendor.root.Vendor ?? vendor.manufacturer,
      product: vendor.model,
      firmware: vendor.firmware,
      serial: 'S411756X2B',
    });
  });

  it('switches on and off, and does nothing when the state is reached already', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.powerOff();
    expect(service.machine.resets).toEqual([]);
    await bmc.powerOn();
    expect(await bmc.powerState()).toBe('on');
    await bmc.powerOn();
    expect(service.machine.resets).toEqual(['On']);
    await bmc.powerOff();
    expect(await bmc.powerState()).toBe('off');
    expect(service.machine.resets).toEqual(['On', 'ForceOff']);
  });

  it('waits until the power state has changed', async () => {
    const { bmc, service } = await rig(vendor);
    service.faults.powerTakes = 4;
    await bmc.powerOn();
    expect(service.machine.power).toBe('On');
    service.faults.powerTakes = 4;
    await bmc.powerOff();
    expect(service.machine.power).toBe('Off');
  });

  it('cycles and resets with one boot each, also when it was off', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.powerCycle();
    expect(service.machine.startedFrom).toHaveLength(1);
    await bmc.powerCycle();
    expect(service.machine.startedFrom).toHaveLength(2);
    await bmc.powerReset();
    expect(service.machine.startedFrom).toHaveLength(3);
    expect(service.machine.resets).toEqual(['On', 'ForceOff', 'On', 'ForceRestart']);
    await bmc.powerOff();
    await bmc.powerReset();
    expect(service.machine.power).toBe('On');
  });

  it('requests a shutdown only when the machine is on', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.powerSoft();
    await bmc.powerOn();
    await bmc.powerSoft();
    expect(service.machine.resets).toEqual(['On', 'GracefulShutdown']);
  });

  it('boots from the network once', async () => {
    const { bmc, service } = await rig(vendor);
    const readBack = await bmc.setBoot({ device: 'network', ...ONCE });
    expect(readBack.device).toBe('network');
    expect(service.machine.boot).toMatchObject({ target: 'Pxe', enabled: 'Once' });
    // iLO does not allow to set the boot mode; the difference is reported.
    const legacy = vendor.mode === 'read-only';
    expect(service.machine.boot.mode).toBe(legacy ? 'Legacy' : 'UEFI');
    expect(readBack.differences).toEqual(legacy ? ['the boot mode reads back as Legacy, requested was UEFI'] : []);
    await bmc.powerOn();
    await bmc.powerCycle();
    expect(service.machine.startedFrom).toEqual(['Pxe', 'None']);
  });

  it('sets a persistent override, or reports that it cannot', async () => {
    const { bmc, service } = await rig(vendor);
    const { differences } = await bmc.setBoot({ device: 'disk', persistent: true, firmware: null });
    expect(service.machine.boot).toMatchObject({ target: 'Hdd', enabled: vendor.persistent ? 'Continuous' : 'Once' });
    expect(differences).toEqual(
      vendor.persistent ? [] : ['the override is for the next boot only: this BMC does not support a persistent one'],
    );
  });

  it('removes an override', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.setBoot({ device: 'setup', ...ONCE });
    expect(service.machine.boot.target).toBe('BiosSetup');
    expect(await bmc.setBoot({ device: 'none', persistent: false, firmware: null })).toEqual({
      device: 'none',
      differences: [],
    });
    expect(service.machine.boot.enabled).toBe('Disabled');
  });

  it('sets HTTP boot with the address from DHCP if the machine supports it', async () => {
    const { bmc, service } = await rig(vendor);
    const setting = bmc.setBoot({ device: 'http', persistent: false, firmware: null });
    if (vendor.bootTargets.includes('UefiHttp')) {
      await setting;
      expect(service.machine.boot).toMatchObject({ target: 'UefiHttp', enabled: 'Once', httpBootUri: null });
    } else {
      await expect(setting).rejects.toMatchObject({
        failure: 'unsupported',
        message: expect.stringContaining('cannot boot from UefiHttp; the BMC offers None, Pxe, Hdd'),
      });
    }
  });

  it('switches the identify light', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.identify('on');
    expect(service.machine.light).toBe(true);
    await bmc.identify('off');
    expect(service.machine.light).toBe(false);
    await bmc.identify({ seconds: 30 });
    expect(service.machine.light).toBe(true);
    await bmc.identify({ seconds: 0 });
    expect(service.machine.light).toBe(false);
  });

  it('reads sensors', async () => {
    const { bmc } = await rig(vendor);
    const sensors = await bmc.sensors();
    const known = { states: [], health: 'ok' };
    expect(sensors.find(({ name }) => name === 'Inlet Temp')).toMatchObject({
      ...known,
      kind: 'temperature',
      value: 23.5,
      unit: '°C',
    });
    expect(sensors.find(({ name }) => name === 'Fan 1')).toMatchObject({
      states: [],
      health: 'warning',
      kind: 'fan',
      value: 8400,
      unit: 'RPM',
    });
    if (vendor.sensors === 'old') {
      expect(sensors.find(({ name }) => name === 'GPU 2')).toMatchObject({ value: null, states: ['Absent'] });
    }
    expect(sensors.find(({ name }) => name === 'Vcore')).toMatchObject({ ...known, kind: 'voltage', value: 1.1 });
  });

  it('reads the hardware log, oldest first, and clears it', async () => {
    const { bmc, service } = await rig(vendor);
    expect(await bmc.eventLog()).toEqual([
      { id: '1', at: Date.UTC(2024, 2, 1, 10), severity: 'ok', message: 'System Boot' },
      { id: '2', at: Date.UTC(2024, 2, 2, 11, 30), severity: 'warning', message: 'Fan 3 slow' },
      { id: '3', at: Date.UTC(2024, 2, 3, 11, 45), severity: 'critical', message: 'PSU 1 lost its input' },
    ]);
    await bmc.clearEventLog();
    expect(service.machine.log).toHaveLength(1);
    expect((await bmc.eventLog()).map(({ message }) => message)).toEqual(['Log cleared']);
  });

  it('changes the password of its own user only', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.setOwnPassword(new Secret('Another-Horse-8'));
    expect(service.machine.users.map(({ password }) => password)).toEqual(['Guest-Word-1', 'Another-Horse-8']);
  });

  it('inserts and ejects an image, idempotently', async () => {
    const { bmc, service } = await rig(vendor);
    await bmc.insertMedia(IMAGE, never);
    await bmc.insertMedia(IMAGE, never);
    expect(service.machine.image).toBe(IMAGE);
    expect((await bmc.virtualDrives()).map(({ image }) => image)).toEqual([null, IMAGE]);
    await expect(bmc.insertMedia(`${IMAGE}?other`, never)).rejects.toMatchObject({ failure: 'refused' });
    expect(service.machine.image).toBe(IMAGE);
    await bmc.insertMedia(`${IMAGE}?other`, (image) => image === IMAGE);
    expect(service.machine.image).toBe(`${IMAGE}?other`);
    await bmc.ejectMedia((image) => image === IMAGE);
    expect(service.machine.image).toBe(`${IMAGE}?other`);
    await bmc.ejectMedia((image) => image === `${IMAGE}?other`);
    await bmc.ejectMedia((image) => image === `${IMAGE}?other`);
    expect(service.machine.image).toBe(null);
  });

  it('leaves no session open', async () => {
    const { bmc, service } = await rig(vendor);
    await Promise.all([bmc.powerState(), bmc.identity(), bmc.sensors()]);
    expect(service.sessions.size).toBeLessThanOrEqual(1);
    await bmc.close();
    expect(service.sessions.size).toBe(0);
  });

  it('reports full sessions as busy and retryable', async () => {
    const { bmc, service } = await rig(vendor);
    for (let taken = 0; taken < vendor.slots; taken++) {
      service.sessions.set(`other ${taken}`, { token: `other ${taken}`, user: ADMIN.name });
    }
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'busy', retryable: true });
    service.sessions.delete('other 0');
    expect(await bmc.powerState()).toBe('off');
  });
});
