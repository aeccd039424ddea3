// From the command line through a real appliance to BMCs that speak IPMI.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN, type SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { needPackages } from '../interop/packages.ts';
import { addressOf, BmcSite } from './bmc-site.ts';

let site: BmcSite;
let first: SimulatedBmc;
let second: SimulatedBmc;

beforeAll(async () => {
  needPackages(['ipmitool']);
  // node03's BMC does not exist, and there is no password for node04's.
  site = new BmcSite([
    { number: 1, password: ADMIN.password },
    { number: 2, password: ADMIN.password },
    { number: 3, password: ADMIN.password },
    { number: 4, password: null },
  ]);
  first = await site.bmc(1);
  second = await site.bmc(2);
  await site.bmc(4);
  await site.serve();
});
afterAll(() => site.remove());

beforeEach(() => {
  for (const { machine } of [first, second]) {
    machine.power = 'off';
    machine.controls.length = 0;
  }
});

describe('power', () => {
  it('is reported and switched for one node', async () => {
    expect(await site.run(['power', 'node01', 'status'])).toEqual({ status: 0, stdout: 'node01  off\n', stderr: '' });
    expect(await site.json('power', 'node01', 'on')).toEqual([{ node: 'node01', mode: 'real', power: 'on' }]);
    expect(first.machine.power).toBe('on');
    expect((await site.run(['power', '52:54:00:77:00:01', 'off'])).stdout).toBe('node01  off\n');
    expect(first.machine.power).toBe('off');
    expect(first.activeSessions).toBe(0);
  });

  it('is switched for several nodes, and each failure is reported with its cause', async () => {
    const run = await site.run(['power', '--all', 'on']);
    expect(run.stdout.split('\n').sort().filter(Boolean)).toEqual([
      'node01  on',
      'node02  on',
      'node03  bmc_unreachable',
      'node04  bmc_login_failed',
    ]);
    expect([first.machine.power, second.machine.power]).toEqual(['on', 'on']);
    expect(run.stderr).toContain('2 of 4 nodes failed');
    expect(run.stderr).toContain('bmc_unreachable, 1: node03');
    expect(run.stderr).toContain('node04: no credentials for its BMC');
    expect([6, 7]).toContain(run.status);
  });

  it('is queried by rack', async () => {
    const run = await site.run(['power', '--rack', 'r0', '--label', 'rack=r0', 'status', '--json']);
    expect(JSON.parse(run.stdout)).toMatchObject([
      { node: 'node02', power: 'off' },
      { node: 'node04', code: 'bmc_login_failed' },
    ]);
    expect(run.status).toBe(6);
  });

  it.each(['off', 'cycle', 'reset'])('%s of several needs --yes without a terminal', async (action) => {
    const refused = await site.run(['power', 'node01', 'node02', action]);
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('this interrupts the operating system of 2 nodes'),
    ]);
    expect([first.machine.controls, second.machine.controls]).toEqual([[], []]);
    expect((await site.run(['power', 'node01', 'node02', action, '--yes'])).status).toBe(0);
  });

  it.each([
    [['node01', 'explode'], 'the last word is the action: on, off, cycle, reset, soft, status'],
    [['on'], 'name a node, or select some'],
    [['node01', '--all', 'on'], 'not both'],
  ])('rejects power %j as wrong usage', async (words, message) => {
    const run = await site.run(['power', ...words]);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('the boot device', () => {
  const readBack = async (): Promise<string> => {
    const login = ['-I', 'lanplus', '-H', addressOf(1), '-U', ADMIN.name, '-E'];
    const env = { ...process.env, IPMI_PASSWORD: ADMIN.password };
    return (await promisify(execFile)('ipmitool', [...login, 'chassis', 'bootparam', 'get', '5'], { env })).stdout;
  };

  it.each([
    [
      ['pxe', '--once', '--efi'],
      ['Force PXE', 'only next boot', 'BIOS EFI boot'],
    ],
    [
      ['disk', '--persistent', '--legacy'],
      ['Force Boot from default Hard-Drive', 'all future boots', 'BIOS PC Compatible'],
    ],
    [['bios'], ['Force Boot into BIOS Setup', 'only next boot']],
    [['cdrom'], ['Force Boot from CD/DVD']],
    [['none'], ['No override']],
  ])('%j is what ipmitool then reads', async (words, lines) => {
    const run = await site.run(['bootdev', 'node01', ...words]);
    expect([run.status, run.stderr]).toEqual([0, '']);
    const shown = await readBack();
    for (const line of lines) expect(shown).toContain(line);
  });

  it('is rejected where IPMI has no value for it', async () => {
    const run = await site.run(['bootdev', 'node01', 'http']);
    expect([run.status, run.stderr]).toEqual([5, expect.stringMatching(/IPMI/)]);
    expect((await site.run(['bootdev', 'node01', 'pxe', '--efi', '--legacy'])).status).toBe(2);
  });
});

describe("the BMC's data", () => {
  it('includes its sensors', async () => {
    const { stdout } = await site.run(['sensors', 'node01']);
    expect(stdout).toMatch(/Inlet Temp +temperature +23 °C/);
    expect(await site.json('sensors', 'node01')).toContainEqual(
      expect.objectContaining({ name: 'Fan 1', value: 8400 }),
    );
  });

  it('includes its event log, which is cleared only after confirmation', async () => {
    expect((await site.json('sel', 'node01')).entries).toHaveLength(2);
    const refused = await site.run(['sel', 'node01', '--clear']);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('type node01 when asked')]);
    expect(first.machine.events).toHaveLength(2);
    expect(await site.json('sel', 'node01', '--clear', '--yes')).toMatchObject({ cleared: true });
    expect(first.machine.events).toEqual([]);
    expect((await site.run(['sel', 'node01'])).stdout).toBe('The event log of node01 is empty.\n');
  });

  it('includes the identify LED', async () => {
    expect((await site.run(['identify', 'node01', '20'])).stdout).toBe('node01  the LED is on for 20 s\n');
    expect(first.machine.identify).toEqual([20]);
    expect((await site.run(['identify', 'node01', 'loudly'])).status).toBe(4);
  });
});

describe('discovery', () => {
  it('finds BMCs in the given range only', async () => {
    const found = await site.json('bmc', 'scan', `${addressOf(0)}/29`);
    expect(found.map(({ address, node }: { address: string; node: string }) => [address, node])).toEqual([
      [addressOf(1), 'node01'],
      [addressOf(2), 'node02'],
      [addressOf(4), 'node04'],
    ]);
    const refused = await site.run(['bmc', 'scan', '10.0.0.0/29']);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('allowed are')]);
  });
});

describe('the record', () => {
  it('has each action: in the trail as sentences, in the audit before it runs', async () => {
    await site.run(['power', 'node02', 'on']);
    const { stdout } = await site.run(['trail', 'node02']);
    expect(stdout).toMatch(/bmc\.done +BMC command succeeded: power on/);
    const { stdout: audit } = await site.run(['audit', 'list']);
    expect(audit).toMatch(/local:\w+ +bmc\.power +node:node02/);
    expect((await site.run(['audit', 'verify'])).status).toBe(0);
  });

  it('has no quirks before a machine was made to boot', async () => {
    expect(await site.json('bmc', 'quirks')).toEqual([]);
  });
});
