// The parts of the demonstration that need no machine.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../appliance/config.ts';
import { DEMO_PROFILE, demoRack, demoSiteText } from '../../appliance/lab/demo/demo-site.ts';
import { clearState, freshState, mustBeRoot } from '../../appliance/lab/demo/prepare.ts';
import { secondsInWords, stages } from '../../appliance/lab/demo/stages.ts';
import { inventoryText, rackInventory } from '../../appliance/lab/rack/inventory-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-demo-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the stages', () => {
  it('are printed with their times, and failed ones are not listed as done', async () => {
    let clock = 0;
    const said: string[] = [];
    const timed = stages(
      (text) => void said.push(text),
      () => clock,
    );
    const result = await timed.run('one', async (say) => {
      say('at work');
      clock += 65_000;
      return 7;
    });
    const failure = timed.run('two', () => Promise.reject(new Error('no')));
    await expect(failure).rejects.toThrow('no');
    expect(result).toBe(7);
    expect(timed.done).toEqual([{ name: 'one', seconds: 65 }]);
    expect(said.join('')).toBe('\none\n       at work\n       done in 1:05 min\n\ntwo\n');
  });

  it.each([
    [0, '0.0 s'],
    [4.24, '4.2 s'],
    [59.94, '59.9 s'],
    [59.96, '1:00 min'],
    [3605, '60:05 min'],
  ])('%d seconds are %s', (seconds, words) => {
    expect(secondsInWords(seconds)).toBe(words);
  });
});

describe('the site', () => {
  it("is valid, together with the rack's inventory", async () => {
    const rack = demoRack(['bios-ipxe-rom', 'uefi-pxe']);
    const places = { bridge: 'rack0', passwordFile: join(folder, 'passwords/bmc-password'), userName: 'admin' };
    const inventory = join(folder, 'inventory.yaml');
    await writeFile(inventory, inventoryText(rackInventory(rack, places)));
    const site = join(folder, 'demo.yaml');
    const imageSha256 = 'ab'.repeat(32);
    const passwordFolder = join(folder, 'passwords');
    const demo = { state: join(folder, 'state'), inventory: [inventory], passwordFolder, imageSha256 };
    await writeFile(site, demoSiteText(demo));

    const config = await loadConfig(site);
    expect(config.inventoryFiles).toEqual([inventory]);
    expect(config.bmcPasswordFolder).toBe(passwordFolder);
    expect(config.listen.node).toEqual({ address: '10.77.0.1', port: 8444 });
    expect(rack.machines.map(({ name, firmware, profile }) => [name, firmware, profile])).toEqual([
      ['node01', 'bios-ipxe-rom', DEMO_PROFILE],
      ['node02', 'uefi-pxe', DEMO_PROFILE],
    ]);
  });
});

describe('the state folder', () => {
  it('is emptied when it is ours, except for boot files', async () => {
    await freshState(folder);
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'coldiron.db'), '');
    await freshState(folder);
    expect(readdirSync(folder).sort()).toEqual(['assets', 'demonstration']);
    await clearState(folder);
    expect(readdirSync(folder)).toEqual(['assets']);
  });

  it('of another appliance is not changed', async () => {
    await writeFile(join(folder, 'coldiron.db'), 'theirs');
    await expect(freshState(folder)).rejects.toMatchObject({ code: 'conflict' });
    expect(readdirSync(folder)).toEqual(['coldiron.db']);
  });
});

it('says what it needs without root', () => {
  const getuid = vi.spyOn(process, 'getuid').mockReturnValue(1000);
  try {
    expect(mustBeRoot).toThrowError(expect.objectContaining({ code: 'forbidden' }));
    getuid.mockReturnValue(0);
    expect(mustBeRoot).not.toThrow();
  } finally {
    getuid.mockRestore();
  }
});
