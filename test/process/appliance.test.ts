// No appliance outlives the test that started it, however the test ends.

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from './appliance.ts';

const APPLIANCE = join(import.meta.dirname, 'appliance.ts');

/** Those that have started Node. */
function appliancesIn(folder: string): number[] {
  const pids = readdirSync('/proc').filter((name) => {
    try {
      const isThere = /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === folder;
      return isThere && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('coldiron.ts');
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
  return pids.map(Number);
}

describe('an appliance in a test', () => {
  let site: SiteFolder;
  beforeEach(() => {
    site = new SiteFolder(LOOPBACK_SITE);
  });
  afterEach(() => {
    for (const pid of appliancesIn(site.path)) process.kill(pid, 'SIGKILL');
    site.remove();
  });

  it('is ended when it does not start in time, and the test fails', async () => {
    const serving = new ServingProcess(site.path);
    serving.child.kill('SIGSTOP');
    await expect(serving.up(200)).rejects.toThrow('serve ended');
    expect(serving.child.signalCode).toBe('SIGKILL');
  });

  it.each([
    ['ServingProcess', ''],
    ['RunningCommand', ', ["serve"]'],
  ])('as a %s ends with a test process that is killed', async (kind, args) => {
    const test = `
      import { ${kind} } from ${JSON.stringify(APPLIANCE)};
      new ${kind}(${JSON.stringify(site.path)}${args});
    `;
    const tester = spawn(process.execPath, ['--input-type=module', '--eval', test], { stdio: 'inherit' });
    onTestFinished(() => void tester.kill('SIGKILL'));
    await expect.poll(() => appliancesIn(site.path)).toHaveLength(1);
    // A hanging one: otherwise it would end by itself when its output pipe is closed.
    for (const pid of appliancesIn(site.path)) process.kill(pid, 'SIGSTOP');
    tester.kill('SIGKILL');
    await expect.poll(() => appliancesIn(site.path)).toEqual([]);
  });
});
