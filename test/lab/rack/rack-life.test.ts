// The life of a rack with the commands of a user: up, status, down, and cleanup after failures. Needs root.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startOf } from '../../../appliance/lab/rack/leftovers.ts';
import { FULL_RACK_PACKAGES } from '../../../appliance/lab/rack/packages.ts';
import { type RackClaim, RackFolder } from '../../../appliance/lab/rack/rack-folder.ts';
import type { RackStatus } from '../../../appliance/lab/rack/rack-status.ts';
import { needPackages } from '../../interop/packages.ts';
import { coldiron, type Run } from '../../process/appliance.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const LIKE = ['--machines', '2', '--firmware', 'bios-ipxe-rom'];

describe('a rack', () => {
  let folder: string;
  beforeAll(() => needPackages([...FULL_RACK_PACKAGES, 'ipmitool']));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-rack-life-'));
  });
  afterEach(() => {
    rack('down', '--erase');
    rmSync(folder, { recursive: true, force: true });
  });

  const state = () => join(folder, 'state');
  const file = (...names: string[]) => join(state(), 'rack', ...names);
  const passwordFile = () => new RackFolder(file()).passwordFile;
  const rack = (verb: string, ...args: string[]): Run => coldiron(['rack', verb, ...args, '--state', state()]);
  const json = <T>(verb: string, ...args: string[]): T => {
    const { status, stdout, stderr } = rack(verb, ...args, '--json');
    expect(status, stderr + stdout).toBe(0);
    return JSON.parse(stdout);
  };
  const claim = (): RackClaim => JSON.parse(readFileSync(file('rack.json'), 'utf8'));

  /** Every process of the rack, with its start time. */
  const processes = async (): Promise<readonly (readonly [number, string | null])[]> => {
    const names = readdirSync(file('processes'));
    const pids = names.map((name) => Number(readFileSync(file('processes', name), 'utf8').split(' ')[0]));
    return await Promise.all([...pids, claim().owner.pid].map(async (pid) => [pid, await startOf(pid)] as const));
  };
  const expectNothingLeft = async (ran: Awaited<ReturnType<typeof processes>>, { namespace }: RackClaim) => {
    for (const [pid, start] of ran) {
      expect(start).not.toBeNull();
      expect(await startOf(pid), `process ${pid}`).not.toBe(start);
    }
    expect(readdirSync('/run/netns')).not.toContain(namespace);
    expect(existsSync(join(tmpdir(), namespace))).toBe(false);
    expect(existsSync(file('rack.json'))).toBe(false);
  };

  it('comes up with an inventory that an appliance accepts, and goes down, each once', async () => {
    const status = json<RackStatus>('up', ...LIKE);
    expect(status.machines.map(({ name, power, bmc }) => [name, power, bmc?.state])).toEqual([
      ['node01', 'off', 'answering'],
      ['node02', 'off', 'answering'],
    ]);
    expect(coldiron(['check', '--config', status.siteFile]).stderr).toBe('');
    const secret = ['inventory.yaml', 'machines/node01/lan.conf', 'rack.json'].map((name) => file(name));
    for (const name of [...secret, passwordFile()]) {
      expect(statSync(name).mode & 0o077, name).toBe(0);
    }
    const again = rack('up', ...LIKE);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('a rack is up')]);

    const [ran, claimed] = [await processes(), claim()];
    expect(ran.length).toBe(5);
    expect(rack('down').stdout).toBe('The rack is down.\n');
    await expectNothingLeft(ran, claimed);
    expect(rack('down').stdout).toBe('No rack was up.\n');
    expect(json('status')).toEqual({ up: false });
    expect(rack('press', 'node01', 'on').stderr).toContain('no rack is up');
  });

  it('keeps disks and the password across restarts, until it is erased', () => {
    json('up', ...LIKE);
    const password = readFileSync(passwordFile(), 'utf8');
    rack('down');
    writeFileSync(file('machines/node01/disk.img'), 'what the machine wrote');
    json('up', ...LIKE);
    expect(readFileSync(passwordFile(), 'utf8')).toBe(password);
    expect(firstBytes(file('machines/node01/disk.img'), 22)).toBe('what the machine wrote');
    expect(statSync(file('machines/node01/disk.img')).size).toBe(4096 * 1024 * 1024);
    rack('down', '--erase');
    expect([existsSync(file()), existsSync(passwordFile())]).toEqual([false, false]);
  });

  it('shows power, TPM, faults and the console, as text and as JSON', () => {
    json('up', ...LIKE, '--tpm');
    expect(rack('press', 'node02', 'on').stdout).toMatch(/node02 +bios-ipxe-rom +on +\d+ +\S+ answering +own/);
    expect(rack('fault', 'node01', 'bmc-hangs').stdout).toContain('fault: node01 bmc-hangs');
    const { machines, faults } = json<RackStatus>('status');
    expect(machines[0]?.bmc?.state).toBe('hanging');
    expect(machines[1]).toMatchObject({ power: 'on', console: file('machines/node02/console.log') });
    expect(machines.map(({ tpm }) => tpm)).toEqual([
      { state: 'own', pid: null },
      { state: 'own', pid: expect.any(Number) },
    ]);
    expect(faults).toMatchObject([{ target: 'node01', kind: 'bmc-hangs' }]);
    expect(rack('fault', 'node01', 'bmc-hangs', 'off').stdout).not.toContain('fault:');
    expect(rack('fault', 'node03', 'loss').status).toBe(4);
    expect(rack('press', 'node03', 'on').status).toBe(4);
  });

  it('leaves nothing behind when its keeper is killed, after it is taken down', async () => {
    json('up', ...LIKE, '--tpm');
    rack('press', 'node01', 'on');
    rack('fault', 'network', 'rogue-dhcp');
    // A stopped process does not notice that its parent has died.
    rack('fault', 'node01', 'bmc-hangs');
    const [ran, claimed] = [await processes(), claim()];
    expect(ran.length).toBe(8);
    const namespacesBefore = readdirSync('/run/netns').filter((name) => name.includes(`-${claimed.owner.pid}-`));
    expect(namespacesBefore).toHaveLength(2);
    process.kill(claimed.owner.pid, 'SIGKILL');
    expect(rack('down').stdout).toBe('The rack is down.\n');
    await expectNothingLeft(ran, claimed);
    expect(readdirSync('/run/netns').filter((name) => namespacesBefore.includes(name))).toEqual([]);
  });

  it('comes up again over the leftovers of a killed keeper, without a separate cleanup', async () => {
    json('up', ...LIKE);
    const [ran, claimed] = [await processes(), claim()];
    process.kill(claimed.owner.pid, 'SIGKILL');
    const { namespace } = json<RackStatus>('up', ...LIKE);
    expect(namespace).not.toBe(claimed.namespace);
    for (const [pid, start] of ran) expect(await startOf(pid)).not.toBe(start);
  });

  it('goes down after its machines and BMCs were killed one by one', async () => {
    json('up', ...LIKE);
    rack('press', 'node01', 'on');
    const [ran, claimed] = [await processes(), claim()];
    for (const [pid] of ran) if (pid !== claimed.owner.pid) process.kill(pid, 'SIGKILL');
    const { machines } = json<RackStatus>('status');
    expect(machines.map(({ power, bmc }) => [power, bmc?.state])).toEqual([
      ['off', 'gone'],
      ['off', 'gone'],
    ]);
    expect(rack('down').stdout).toBe('The rack is down.\n');
    await expectNothingLeft(ran, claimed);
  });

  it('has BMCs that record their commands, and no machines, in recorder mode', () => {
    const { namespace, machines } = json<RackStatus>('up', ...LIKE, '--bmc-mode', 'recorder');
    // It retransmits after half a minute, not after a second: a repeated command would be recorded twice.
    const login = ['-I', 'lanplus', '-C', '3', '-N', '30', '-H', machines[0]?.bmc?.address ?? '', '-U', 'admin'];
    const ipmitool = (...args: string[]): string =>
      execFileSync('ip', ['netns', 'exec', namespace, 'ipmitool', ...login, '-f', passwordFile(), ...args], {
        encoding: 'utf8',
      });
    ipmitool('chassis', 'bootdev', 'pxe');
    ipmitool('power', 'on');
    expect(ipmitool('power', 'status')).toContain('is on');
    expect(json<RackStatus>('status').machines[0]).toMatchObject({ power: 'on', pid: null });
    const recorded = readFileSync(file('recorded.jsonl'), 'utf8').trim().split('\n');
    expect(recorded.map((line) => JSON.parse(line))).toMatchObject([
      { machine: 'node01', action: 'boot-flag', boot: 'pxe' },
      { machine: 'node01', action: 'power-on', boot: 'pxe' },
    ]);
    expect(rack('fault', 'node01', 'loss').stderr).toContain("this rack's bmc_mode is recorder");
    expect(readFileSync(file('inventory.yaml'), 'utf8')).toContain('bmc_mode: recorder');
  });

  it('has no BMCs, and machines that are switched by hand, in disabled mode', () => {
    const { machines } = json<RackStatus>('up', ...LIKE, '--bmc-mode', 'disabled');
    expect(machines.map(({ bmc }) => bmc)).toEqual([null, null]);
    expect(json<RackStatus>('press', 'node01', 'on').machines[0]).toMatchObject({ power: 'on' });
    expect(json<RackStatus>('press', 'node01', 'off').machines[0]).toMatchObject({ power: 'off', pid: null });
    expect(rack('fault', 'node01', 'bmc-gone').stderr).toContain('has no BMC');
  });

  it('reports what is wrong with its file, and starts nothing', () => {
    const definition = join(folder, 'rack.yaml');
    writeFileSync(definition, 'rack: {machines: [{name: one, firmware: coreboot}]}\n');
    const { status, stderr } = rack('up', '--rack', definition);
    expect(status).toBe(3);
    expect(stderr).toContain('rack.machines[0].firmware: must be one of bios-ipxe-rom');
    expect(existsSync(file('rack.json'))).toBe(false);
  });
});

function firstBytes(path: string, count: number): string {
  const disk = openSync(path, 'r');
  const bytes = Buffer.alloc(count);
  readSync(disk, bytes);
  closeSync(disk);
  return bytes.toString('latin1');
}
