// Verifies our simulator with independent clients: ipmitool and FreeIPMI.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../../../interop/packages.ts';
import { startSimulator } from '../client-rig.ts';
import { ADMIN, OPERATOR, type SimulatedBmc } from './simulated-bmc.ts';

const run = promisify(execFile);
const KEY = 'key of the lab';

beforeAll(() => needPackages(['ipmitool', 'freeipmi-tools']));

async function ipmitool(bmc: SimulatedBmc, args: readonly string[], user = ADMIN): Promise<string> {
  const login = ['-I', 'lanplus', '-H', '127.0.0.1', '-p', String(bmc.port), '-U', user.name, '-E'];
  const env = { ...process.env, IPMI_PASSWORD: user.password };
  return (await run('ipmitool', [...login, ...args], { env })).stdout;
}

async function freeIpmi(bmc: SimulatedBmc, tool: string, args: readonly string[]): Promise<string> {
  const login = ['-D', 'LAN_2_0', '-h', `127.0.0.1:${bmc.port}`, '-u', ADMIN.name, '-p', ADMIN.password];
  return (await run(tool, [...login, ...args])).stdout;
}

describe.each(['3', '17'])('suite %s', (suite) => {
  it('works with ipmitool, without and with a BMC key', async () => {
    const plain = await startSimulator();
    expect(await ipmitool(plain, ['-C', suite, 'power', 'status'])).toContain('Chassis Power is off');
    const keyed = await startSimulator({ bmcKey: KEY });
    expect(await ipmitool(keyed, ['-C', suite, '-k', KEY, 'power', 'status'])).toContain('Chassis Power is off');
    await expect(ipmitool(keyed, ['-C', suite, '-R', '1', '-N', '1', 'power', 'status'])).rejects.toThrow();
  });

  it('works with FreeIPMI, without and with a BMC key', async () => {
    const plain = await startSimulator();
    expect(await freeIpmi(plain, 'ipmipower', ['-I', suite, '--stat'])).toContain('127.0.0.1: off');
    const keyed = await startSimulator({ bmcKey: KEY });
    expect(await freeIpmi(keyed, 'ipmipower', ['-I', suite, '-k', KEY, '--stat'])).toContain('127.0.0.1: off');
  });
});

describe('ipmitool', () => {
  it('negotiates a suite, and closes its session', async () => {
    const bmc = await startSimulator();
    expect(await ipmitool(bmc, ['mc', 'info'])).toMatch(/Manufacturer ID\s+: 10876/);
    expect(bmc.activeSessions).toBe(0);
  });

  it('switches power as operator, and is refused what only administrators may do', async () => {
    const bmc = await startSimulator();
    await ipmitool(bmc, ['-L', 'OPERATOR', 'power', 'on'], OPERATOR);
    expect(bmc.machine.power).toBe('on');
    await expect(ipmitool(bmc, ['-L', 'OPERATOR', 'user', 'disable', '3'], OPERATOR)).rejects.toThrow();
  });

  it('sets boot flags and reads them back', async () => {
    const bmc = await startSimulator();
    await ipmitool(bmc, ['chassis', 'bootdev', 'pxe', 'options=efiboot']);
    const flags = await ipmitool(bmc, ['chassis', 'bootparam', 'get', '5']);
    for (const line of ['Boot Flag Valid', 'only next boot', 'BIOS EFI boot', 'Force PXE'])
      expect(flags).toContain(line);
  });

  it('reads events, sensors and the FRU inventory', async () => {
    const bmc = await startSimulator();
    expect(await ipmitool(bmc, ['sel', 'list'])).toContain('Upper Critical going high');
    const sensors = await ipmitool(bmc, ['sdr', 'list', 'full']);
    for (const value of ['23 degrees C', '1.20 Volts', '8400 RPM']) expect(sensors).toContain(value);
    const fru = await ipmitool(bmc, ['fru', 'print', '0']);
    for (const value of ['BRD123', 'Anvil 2', 'SN42', '2023']) expect(fru).toContain(value);
    await ipmitool(bmc, ['sel', 'clear']);
    expect(bmc.machine.events).toEqual([]);
  });
});

describe('FreeIPMI', () => {
  it('switches power on', async () => {
    const bmc = await startSimulator();
    expect(await freeIpmi(bmc, 'ipmipower', ['-I', '17', '--on'])).toContain('ok');
    expect(bmc.machine.power).toBe('on');
  });

  it('reads the FRU inventory', async () => {
    const bmc = await startSimulator();
    expect(await freeIpmi(bmc, 'ipmi-fru', ['-I', '17', '--device-id', '0'])).toContain('SN42');
  });
});
