// The capture of a console through OpenIPMI's simulator, which allows one session: recorded boots of real machines go in, and the
// capture, a viewer and ipmitool want to read them.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bmcSystemClock } from '../../../appliance/bmc/clock.ts';
import { Capture } from '../../../appliance/bmc/console/capture.ts';
import { ConsoleFiles } from '../../../appliance/bmc/console/console-files.ts';
import { SharedConsole } from '../../../appliance/bmc/console/shared-console.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import type { MachineId } from '../../../appliance/domain/machine.ts';
import { needPackages } from '../../interop/packages.ts';
import { captured, linesOf } from '../console/captured-console.ts';
import { Screen } from '../console/fake-session.ts';
import { PATIENT, targetOf } from './client-rig.ts';
import { startOpenIpmi } from './openipmi.ts';
import { serialPort } from './serial-port.ts';

beforeAll(() => needPackages(['openipmi', 'socat', 'ipmitool']));

const NODE = '11111111-0000-4000-8000-000000000001' as MachineId;
/** Without the beginning of the next boot. */
const wholeBoot = (name: string): Buffer => {
  const bytes = Buffer.from(captured(name));
  return bytes.subarray(0, bytes.lastIndexOf('\u001bc'));
};
const USER = { name: 'admin', password: 'lab-password' };

async function captureThroughOpenIpmi() {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-capture-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { device, machine } = await serialPort();
  const simulator = await startOpenIpmi(device);
  const target = targetOf(simulator.port, USER);
  const shared = new SharedConsole({
    clock: bmcSystemClock,
    onIdle: () => undefined,
    open: async (options) => {
      const bmc = ipmiBmc(target, { efi: true }, PATIENT);
      try {
        return { console: await bmc.openConsole(options), close: () => bmc.close() };
      } catch (error) {
        await bmc.close();
        throw error;
      }
    },
  });
  const files = new ConsoleFiles(folder, bmcSystemClock, { warn: () => undefined });
  const matched: string[] = [];
  const troubles: string[] = [];
  const follow = () =>
    new Capture({
      clock: bmcSystemClock,
      writer: files.writer(NODE),
      follow: (follower) => shared.follow(follower),
      matched: ({ id }) => void matched.push(id),
      unavailable: (because) => void troubles.push(because),
      gaveUp: () => undefined,
    });
  onTestFinished(() => shared.stop('the test is over'));
  const login = ['-I', 'lanplus', '-C', '3', '-H', '127.0.0.1', '-p', String(simulator.port)];
  const ipmitool = (...args: string[]) =>
    promisify(execFile)('ipmitool', [...login, '-U', USER.name, '-P', USER.password, ...args]);
  const said = async () => (await files.read(NODE, 'current', 5000)).map(({ text }) => text);
  return { target, machine, shared, follow, ipmitool, said, matched, troubles };
}

describe('the capture through OpenIPMI', () => {
  it('stores what the machine says, beside a viewer, and keeps ipmitool out', async () => {
    const { machine, shared, follow, ipmitool, said, matched } = await captureThroughOpenIpmi();
    const capture = follow();
    await capture.ready;
    const viewer = new Screen(await shared.view({ who: 'alice', readOnly: false, steal: false }));
    const boot = wholeBoot('seabios-no-device');
    machine.write(boot);
    await expect.poll(said).toEqual(linesOf(boot));
    // Each line once, although two of a kind are there.
    expect(new Set(matched)).toEqual(new Set(['ipxe-no-address', 'bios-disk-not-bootable', 'bios-nothing-to-boot']));
    expect(viewer.shown).toContain('No bootable device.');

    let typed = '';
    machine.on('data', (bytes) => {
      typed += bytes.toString('latin1');
    });
    viewer.console.write(Buffer.from('hello\r'));
    await expect.poll(() => typed).toBe('hello\r');

    await expect(ipmitool('sol', 'activate')).rejects.toMatchObject({
      stderr: expect.stringContaining('already active'),
    });
    machine.write('still here\r\n');
    await expect.poll(said).toContain('still here');
    await viewer.console.close();
    await capture.stop();
  });

  it('leaves the console to a client that has it, and says so once; a viewer can take it', async () => {
    const { target, shared, follow, troubles, machine, said } = await captureThroughOpenIpmi();
    const stranger = ipmiBmc(target, { efi: true }, PATIENT);
    onTestFinished(() => stranger.close());
    const theirs = new Screen(await stranger.openConsole({ steal: false }));
    const capture = follow();
    await capture.ready;
    expect([troubles.length, capture.isOpen]).toEqual([1, false]);
    machine.write('for the stranger\r\n');
    await expect.poll(() => theirs.shown).toContain('for the stranger');
    await expect(shared.view({ who: 'alice', readOnly: false, steal: false })).rejects.toMatchObject({
      failure: 'busy',
    });

    const viewer = new Screen(await shared.view({ who: 'alice', readOnly: false, steal: true }));
    machine.write('for us\r\n');
    await expect.poll(() => viewer.shown).toContain('for us');
    await expect.poll(said).toContain('for us');
    expect(troubles).toHaveLength(1);
    await viewer.console.close();
    await capture.stop();
  });
});
