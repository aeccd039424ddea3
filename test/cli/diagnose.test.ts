// `diagnose`, `record` and `replay` as a user types them, with a BMC that answers.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { type BmcRack, openBmcRack } from './bmc-rack.ts';

let rack: BmcRack;
const folder = mkdtempSync(join(tmpdir(), 'coldiron-recording-'));
beforeAll(async () => {
  rack = await openBmcRack();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await rack.api.close();
});

const out = async (...args: string[]): Promise<string> => (await rack.coldiron(...args)).stdout;

describe('diagnose', () => {
  it('says that nothing is wrong with the site while no node is worked on', async () => {
    expect(await out('diagnose')).toBe('No problem found: no node is being worked on, failed or silent.\n');
  });

  it('asks the BMC, and names the cause, the evidence, the next step and how to verify it', async () => {
    await out('commission', 'metal01', 'metal02', '--yes');
    const metal01 = rack.machines.metal01 ?? expect.fail('no metal01');
    metal01.power = 'off';
    expect(await out('diagnose', 'metal01')).toContain('which is in time');
    rack.api.clock.time += 20 * MINUTE;
    metal01.power = 'off';
    const text = await out('diagnose', 'metal01');
    expect(text).toContain('metal01 is switched off: it lost its power, or somebody switched it off');
    expect(text).toMatch(/^ {2}now, bmc: its BMC reports that the power is off$/m);
    expect(text).toMatch(
      /^→ Find out why \(coldiron sel metal01\), then start it again: coldiron cancel metal01, then coldiron commission metal01$/m,
    );
    expect(text).toMatch(/^ {2}To verify: coldiron power metal01 status says on\.$/m);
    expect(text).toMatch(/^Other causes that fit less:\n- metal01 was started but never requested an address/m);
  });

  it('shows what is wrong with the site: the nodes with the same cause, and what they have in common', async () => {
    const text = await out('diagnose');
    expect(text).toMatch(
      /^2 machines in rack m1 wait for their first DHCP request; common to all: network metal-boot/m,
    );
    expect(text).toMatch(/^ {2}metal01, metal02, since /m);
    expect(JSON.parse(await out('diagnose', '--json'))).toMatchObject({
      looked_at: 2,
      problems: [{ id: 'no-discover', nodes: ['metal01', 'metal02'] }],
      appliance: [],
    });
  });
});

describe('a recording', () => {
  it('is a private file that replays to the same answer without an appliance, and is never overwritten', async () => {
    const file = join(folder, 'metal01.json');
    expect(await out('record', 'metal01', file)).toContain(`Replay it: coldiron replay ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain('ADMIN');
    const stdout = execFileSync(join(import.meta.dirname, '../../coldiron'), ['replay', file], { encoding: 'utf8' });
    expect(stdout).toContain('metal01 is switched off');
    expect(stdout).toContain('Boot decision: service-os, because metal01 is being commissioned');
    expect((await rack.coldiron('record', 'metal01', file)).status).toBe(2);
  });
});
