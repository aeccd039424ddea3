// The verbs that write to the BMCs of several nodes, as a user types them.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BmcRack, NAMES, openBmcRack } from './bmc-rack.ts';

let rack: BmcRack;
beforeEach(async () => {
  rack = await openBmcRack();
});
afterEach(() => rack.api.close());

const coldiron = (...args: string[]) => rack.coldiron(...args);
const logs = () => NAMES.map((name) => rack.machines[name]?.log.length);
const passwords = () => NAMES.map((name) => rack.machines[name]?.password);

describe('sel --clear', () => {
  it('shows every log, and deletes none without confirmation', async () => {
    const run = await coldiron('sel', '--rack', 'm1', '--clear');
    expect([run.status, run.stderr]).toEqual([
      2,
      expect.stringContaining('this permanently deletes the event log of 3 nodes: add --yes, or type 3 when asked'),
    ]);
    expect(run.stdout.match(/Fan 1 is slow/g)).toHaveLength(3);
    const dry = await coldiron('sel', '--rack', 'm1', '--clear', '--dry-run');
    expect(dry.stdout).toContain('sel --clear: 3 nodes; this permanently deletes the event log of each (dry run');
    expect(logs()).toEqual([1, 1, 1]);
  });

  it('deletes only the logs that it has shown, and says so for each node', async () => {
    rack.machines.metal02?.fails.set('eventLog', 'unreachable');
    rack.machines.metal03?.fails.set('clearEventLog', 'busy');
    const run = await coldiron('sel', '--rack', 'm1', '--clear', '--yes');
    expect(run.status).toBe(7);
    expect(run.stdout).toContain('The event log of metal01 is cleared.\n');
    expect(run.stdout).not.toMatch(/metal0[23] is cleared/);
    expect(run.stderr).toMatch(/2 of 3 nodes failed[\s\S]*metal02: no answer[\s\S]*metal03: no answer/);
    expect(logs()).toEqual([0, 1, 1]);
    expect(rack.machines.metal02?.verbs).not.toContain('clearEventLog');
    rack.machines.metal02?.fails.clear();
    const printed = await coldiron('sel', '--rack', 'm1', '--clear', '--yes', '--json');
    expect(JSON.parse(printed.stdout)).toEqual([
      { node: 'metal01', entries: [], cleared: true },
      { node: 'metal02', entries: [expect.objectContaining({ id: '1' })], cleared: true },
      {
        node: 'metal03',
        entries: [expect.objectContaining({ id: '1' })],
        cleared: false,
        code: 'bmc_busy',
        message: expect.any(String),
        details: [expect.stringContaining('correlation id')],
      },
    ]);
    expect(printed.status).toBe(7);
  });
});

describe('bmc rotate', () => {
  it('needs --yes for a selection, previews it, and changes the password of every node', async () => {
    const before = passwords();
    const refused = await coldiron('bmc', 'rotate', '--rack', 'm1');
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('this replaces the BMC password of 3 nodes: add --yes'),
    ]);
    expect(refused.stderr).toMatch(/metal02 +registered/);
    const dry = await coldiron('bmc', 'rotate', 'metal01', 'metal02', '--dry-run');
    expect(dry.stdout).toContain('bmc rotate: 2 nodes; this replaces the BMC password of each (dry run');
    expect(passwords()).toEqual(before);

    rack.machines.metal02?.fails.set('powerState', 'unreachable');
    const run = await coldiron('bmc', 'rotate', '--rack', 'm1', '--yes');
    expect([run.status, run.stdout.match(/ADMIN has a new password/g)?.length]).toEqual([7, 2]);
    expect(run.stderr).toContain('1 of 3 nodes failed');
    expect(run.stderr).toContain('bmc_unreachable, 1: metal02');
    const after = passwords();
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    expect(new Set(after).size).toBe(3);
    expect(run.stdout + run.stderr).not.toContain(after[0]);
  });
});

describe('bmc set-credentials', () => {
  it('stores one login for a selection, after confirmation', async () => {
    const args = ['bmc', 'set-credentials', '--rack', 'm1', '--username', 'root'];
    const refused = await rack.given('calvin-calvin\n', ...args);
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('this replaces the BMC credentials in the vault of 3 nodes'),
    ]);
    expect(passwords()).not.toContain('calvin-calvin');
    const run = await rack.given('calvin-calvin\n', ...args, '--yes', '--json');
    expect(run.status).toBe(0);
    expect(JSON.parse(run.stdout)).toEqual(NAMES.map((node) => ({ node, username: 'root', checked: true })));
    expect(passwords()).toEqual(NAMES.map(() => 'calvin-calvin'));
  });
});

describe('bmc forget-certificate', () => {
  it('lists the reason of every node', async () => {
    const run = await coldiron('bmc', 'forget-certificate', 'metal01', 'metal02', '--yes');
    expect(run.status).toBe(5);
    expect(run.stderr).toContain('conflict, 2: metal01 metal02');
  });
});
