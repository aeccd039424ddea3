// Our client with OpenIPMI's BMC simulator; ipmitool verifies the results independently.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { IpmiConnection, withIpmiSession } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { powerStatus } from '../../../appliance/bmc/ipmi/power.ts';
import { memoryLedger } from '../../../appliance/bmc/quirk-ledger.ts';
import { type BootReport, verified } from '../../../appliance/bmc/verified.ts';
import { setSessionPrivilege } from '../../../appliance/codecs/ipmi/commands/session-commands.ts';
import { setUserEnabled } from '../../../appliance/codecs/ipmi/commands/users.ts';
import { needPackages } from '../../interop/packages.ts';
import { PATIENT, QUICK, targetOf } from './client-rig.ts';
import { type OpenIpmi, startOpenIpmi } from './openipmi.ts';

const run = promisify(execFile);
const ADMIN = { name: 'admin', password: 'lab-password' };

beforeAll(() => needPackages(['openipmi', 'ipmitool']));

async function rig() {
  const simulator = await startOpenIpmi();
  const bmc = ipmiBmc(targetOf(simulator.port, ADMIN), { efi: true }, PATIENT);
  onTestFinished(() => bmc.close());
  return { simulator, bmc };
}

async function ipmitool({ port }: OpenIpmi, ...args: readonly string[]): Promise<string> {
  const login = ['-I', 'lanplus', '-C', '3', '-H', '127.0.0.1', '-p', String(port), '-U', ADMIN.name, '-E'];
  const env = { ...process.env, IPMI_PASSWORD: ADMIN.password };
  return (await run('ipmitool', [...login, ...args], { env })).stdout;
}

describe('OpenIPMI', () => {
  it('switches its chassis on, off, and cycles it', async () => {
    const { simulator, bmc } = await rig();
    expect(await bmc.powerState()).toBe('off');
    await bmc.powerOn();
    expect(simulator.chassis('power')).toBe('1');
    expect(await ipmitool(simulator, 'power', 'status')).toContain('is on');
    await bmc.powerCycle();
    expect(await bmc.powerState()).toBe('on');
    await bmc.powerReset();
    expect(simulator.chassis('reset')).toBe('1');
    await bmc.powerSoft();
    expect(simulator.chassis('shutdown')).toBe('1');
    await bmc.powerOff();
    expect(simulator.chassis('power')).toBe('0');
  });

  it('stores the boot device, as ipmitool reads it back', async () => {
    const { simulator, bmc } = await rig();
    await bmc.setBoot({ device: 'network', persistent: false, firmware: null });
    expect(simulator.chassis('boot')).toBe('pxe');
    expect(await ipmitool(simulator, 'chassis', 'bootparam', 'get', '5')).toContain('Force PXE');
    // It stores the device and loses every other bit: that is reported.
    const { differences } = await bmc.setBoot({ device: 'disk', persistent: false, firmware: 'efi' });
    expect(differences).toEqual([
      'valid reads back as false, requested was true',
      'efi reads back as false, requested was true',
    ]);
    expect(await ipmitool(simulator, 'chassis', 'bootparam', 'get', '5')).toContain(
      'Force Boot from default Hard-Drive',
    );
  });

  it('accepts a boot device and reports another one: ipmitool sees the same, and so does the report of the boot', async () => {
    const { simulator, bmc } = await rig();
    simulator.setChassis('boot-shown', 'default');
    const wants = { device: 'network', persistent: false, firmware: 'efi' } as const;
    await expect(bmc.setBoot(wants)).rejects.toMatchObject({ failure: 'contradiction', readBack: 'disk' });
    expect(simulator.chassis('boot')).toBe('pxe');
    expect(await ipmitool(simulator, 'chassis', 'bootparam', 'get', '5')).toContain(
      'Force Boot from default Hard-Drive',
    );
    const reports: BootReport[] = [];
    const deps = { clock: PATIENT.clock, ledger: memoryLedger(), report: (one: BootReport) => void reports.push(one) };
    const never = { seen: () => new Promise<never>(() => undefined), earlier: [], deadline: null };
    await expect(
      verified([{ driver: 'ipmi', bmc }], deps).bootFrom({ device: 'network', firmware: 'efi' }, never),
    ).rejects.toThrow('the machine does not boot from network');
    const refused = reports.filter(({ kind }) => kind === 'refused');
    expect(refused.length).toBeGreaterThan(0);
    for (const { read_back: readBack } of refused) expect(readBack).toEqual({ device: 'disk', differences: [] });
    expect(simulator.chassis('power')).toBe('0');
  });

  it('lists its events, and clears them', async () => {
    const { simulator, bmc } = await rig();
    expect(await bmc.eventLog()).toEqual([
      {
        id: '1',
        // Its clock counts from its own start.
        at: null,
        severity: 'ok',
        message: "sensor 0x01 (system event): vendor's boot event",
      },
    ]);
    await bmc.clearEventLog();
    expect(await bmc.eventLog()).toEqual([]);
    expect(await ipmitool(simulator, 'sel', 'info')).toMatch(/Entries\s+: 0/);
  });

  it('reports the same sensors as to ipmitool', async () => {
    const { simulator, bmc } = await rig();
    expect(await bmc.sensors()).toEqual([
      { name: 'CPU_Temp', kind: 'temperature', value: 45, unit: '°C', health: 'ok', states: [] },
    ]);
    expect(await ipmitool(simulator, 'sdr')).toContain('45 degrees C');
  });

  it('has users, an identify light, and no FRU inventory', async () => {
    const { bmc } = await rig();
    expect((await bmc.users()).map(({ name, privilege }) => [name, privilege])).toContainEqual([
      'admin',
      'administrator',
    ]);
    await bmc.identify({ seconds: 5 });
    expect(await bmc.hardware()).toBeNull();
  });

  it.each([
    ['a wrong password', { name: 'admin', password: 'guess' }, 'wrong-password'],
    ['a wrong user', { name: 'nobody', password: 'guess' }, 'wrong-user'],
  ])('rejects %s', async (_what, user, reason) => {
    const { simulator } = await rig();
    await expect(IpmiConnection.open(targetOf(simulator.port, user), PATIENT)).rejects.toMatchObject({
      reason,
      retryable: false,
    });
  });

  it('refuses an operator what only administrators may do, with a message', async () => {
    const { simulator } = await rig();
    await withIpmiSession(targetOf(simulator.port, ADMIN), PATIENT, async (connection) => {
      expect(await connection.call(setSessionPrivilege('operator'))).toBe(3);
      await expect(connection.call(setUserEnabled(2, true))).rejects.toMatchObject({
        failure: 'privilege',
        completionCode: 0xd4,
        message: expect.stringContaining('the user lacks the privilege'),
      });
    });
  });

  it('is reported as vanished when it is killed', async () => {
    const { simulator } = await rig();
    const connection = await IpmiConnection.open(targetOf(simulator.port, ADMIN), QUICK);
    expect(await powerStatus(connection)).toBe('off');
    await simulator.kill();
    await expect(powerStatus(connection)).rejects.toMatchObject({ failure: 'vanished', retryable: true });
    await connection.close();
  });
});
