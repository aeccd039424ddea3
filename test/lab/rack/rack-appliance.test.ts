// A real appliance and a virtual rack, as with hardware: it reads the inventory that the rack wrote, sets the
// machine's BMC to network boot over IPMI, and receives the machine's report. Needs root.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RackFolder } from '../../../appliance/lab/rack/rack-folder.ts';
import { ROOT } from '../../process/appliance.ts';
import { BOOT_WITHIN_MS, serverOf, useRack } from './bmc-rig.ts';
import { RackProcess } from './rack-process.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

describe('an appliance in the network of a rack', () => {
  const rig = useRack();

  it('boots a machine from the network through its BMC, without exposing the password', async () => {
    const { rack, folder, slot } = rig();
    const state = join(folder, 'state');
    const serve = [join(ROOT, 'coldiron'), 'serve', '--config', rack.siteFile, '--state', state] as const;
    const appliance = new RackProcess(rack.network, serve);
    onTestFinished(() => appliance.end());
    await appliance.line((line) => line.startsWith('Coldiron is up'), BOOT_WITHIN_MS);

    // Asynchronous, because this process also runs the machines of the rack.
    const coldiron = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(join(ROOT, 'coldiron'), [...args, '--state', state])).stdout;
    expect(await coldiron('power', 'node01', 'status')).toMatch(/node01 +off/);
    await coldiron('bootdev', 'node01', 'pxe');
    await coldiron('power', 'node01', 'on');
    expect(serverOf(slot).isOn).toBe(true);
    await appliance.line((line) => line.includes('"dhcp ack') && line.includes('52:54:00:77:00:01'), BOOT_WITHIN_MS);

    const password = readFileSync(new RackFolder(folder).passwordFile, 'utf8').trim();
    expect(appliance.lines.join('\n')).not.toContain(password);
    expect(commandLines()).not.toContain(password);
  });
});

/** The command lines of all processes: readable by every user of the host. */
const commandLines = (): string =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return '';
      }
    })
    .join('\n');
