// A machine that boots from the network without an armed intent keeps every byte of its disk, whatever its state. Real
// firmware, the real service OS where a state boots it, and states that are reached as operators reach them. Needs root.

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { LIFECYCLE_STATES, type LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { withTinyProfiles } from './faults-images.ts';
import { TroubledMachine } from './faults-machine.ts';
import { OnboardingRig } from './rig.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

const FROM_DISK = /this is its own disk/;
const DISK_TEXT = 'this is its own disk';
const REFUSED = /The next boot entry follows/;
/** What iPXE prints when it starts to load the service OS: the script is issued then, and the intent is consumed. */
const LOADS_KERNEL = 'service-os-x86_64/kernel';
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@example.com';

/** A rescue key for one operator; the second machine is undeclared. */
function declared(inventory: InventoryDocument): InventoryDocument {
  const accounts = [{ name: 'ada', admin: true, ssh_keys: [KEY] }];
  return {
    ...inventory,
    sites: inventory.sites?.map((site) => ({ ...site, accounts })) ?? [],
    nodes: inventory.nodes?.filter(({ name }) => name === 'node01') ?? [],
  };
}

describe('a machine without an armed intent', () => {
  let rig: OnboardingRig;
  let machine: TroubledMachine;
  let untouched: string;
  const booted = new Set<LifecycleState>();
  const BOOTED_LATER: readonly LifecycleState[] = ['rescue', 'retired', 'removed', 'discovered'];

  beforeAll(async () => {
    rig = await OnboardingRig.start({
      firmwares: ['bios-ipxe-rom', 'bios-ipxe-rom'],
      machines: (each) => ({ ...each, disk: 64, first: 'network' }),
      inventory: async (written) => [(await withTinyProfiles(written, declared)).file],
    });
    machine = new TroubledMachine(rig, 'node01');
    await machine.fillDisk(DISK_TEXT);
    untouched = await machine.diskSum();
  });
  afterEach(async () => {
    await machine?.powerOff();
    expect(await machine.diskSum()).toBe(untouched);
  });
  afterAll(() => rig?.stop());

  const state = async (): Promise<LifecycleState> => (await rig.node('node01')).state;

  /** Boots from the network, by its button, until it shows this; the disk is checked when it is off again. */
  const boot = async (expected: LifecycleState, shown: RegExp, end = FROM_DISK): Promise<void> => {
    expect(await state()).toBe(expected);
    await machine.powerOn();
    await machine.shows(end);
    await machine.powerOff();
    expect(machine.screen).toMatch(shown);
    expect(await machine.diskSum(), `after a boot as ${expected}`).toBe(untouched);
    booted.add(expected);
  };

  it('keeps its disk when it is registered, enrolling, quarantined and failed', async () => {
    await boot('registered', /boots from its own disk/);
    await rig.json('token', 'issue', 'node01', '--output', join(rig.state, 'bundle.sh'));
    await boot('enrolling', /boots from its own disk/);
    await rig.json('quarantine', 'node01', '--note', 'the lid stood open');
    await boot('quarantined', /Code: quarantined/, REFUSED);
    await rig.json('clear-quarantine', 'node01');
    await boot('failed', /boots from its own disk/);
  });

  it('keeps its disk when it is commissioned by a service OS that completes, and when it is then ready', async () => {
    const before = await machine.newest();
    await rig.json('commission', 'node01', '--wait');
    booted.add('commissioning');
    await machine.happens(({ kind, data }) => kind === 'bmc.done' && data.effect === 'power-off', before);
    expect(machine.screen).toContain('coldiron: test-network: done');
    expect(await machine.diskSum()).toBe(untouched);
    await boot('ready', /boots from its own disk/);
  });

  it('keeps its disk when it is deploying, and an earlier boot has consumed the intent', async () => {
    await machine.cutWhile(() => rig.json('deploy', 'node01', '--yes', '--profile', 'tiny'), LOADS_KERNEL);
    await boot('deploying', /boots from its own disk/);
    await machine.until(async () => (await state()) === 'failed', 'the restart was to be noticed');
    expect(await rig.node('node01')).toMatchObject({ failure: { step: 'deploy' } });
  });

  it('keeps its disk when it is releasing, and an earlier boot has consumed the intent', async () => {
    await machine.cutWhile(() => rig.json('release', 'node01', '--yes'), LOADS_KERNEL);
    await boot('releasing', /boots from its own disk/);
    await machine.until(async () => (await state()) === 'failed', 'the restart was to be noticed');
    expect(await rig.node('node01')).toMatchObject({ failure: { step: 'release' } });
  });

  it('keeps its disk when it is active, draining, rescued, retired and removed', async () => {
    // Without an installation, whose writes would be hard to distinguish from forbidden ones.
    await machine.put('active');
    await boot('active', /boots from its own disk/);
    await rig.json('drain', 'node01');
    await boot('draining', /boots from its own disk/);
    await rig.json('undrain', 'node01');
    // States that no test here names, for example new ones.
    for (const other of LIFECYCLE_STATES.filter((each) => !booted.has(each) && !BOOTED_LATER.includes(each))) {
      await machine.put(other);
      await boot(other, /boots from its own disk/);
    }
    await rig.json('rescue', 'node01');
    await machine.until(() => machine.isOn, 'its BMC was to switch it on');
    await machine.shows(/coldiron: rescue: done: ssh root@/);
    booted.add('rescue');
    await rig.json('end-rescue', 'node01');
    await machine.until(() => FROM_DISK.test(machine.screen), 'it was to start from its disk after the rescue');
    await machine.powerOff();
    await rig.json('retire', 'node01');
    await boot('retired', /boots from its own disk/);
    await rig.json('remove', 'node01', '--yes');
    await machine.powerOn();
    await machine.shows(/does not boot node01 \(.*\), state: removed/);
    await machine.shows(REFUSED);
    booted.add('removed');
  });

  it('keeps its disk when it is unknown, and the service OS inspects it', async () => {
    const stranger = new TroubledMachine(rig, 'node02');
    await stranger.fillDisk(DISK_TEXT);
    const before = await stranger.diskSum();
    await stranger.powerOn();
    await stranger.shows(/the appliance wants this machine to wait/);
    await stranger.powerOff();
    expect(await rig.node('unknown-525400770002')).toMatchObject({ state: 'discovered' });
    expect(await stranger.diskSum()).toBe(before);
    booted.add('discovered');
  });

  it('was booted in every state', () => {
    expect([...booted].sort()).toEqual([...LIFECYCLE_STATES].sort());
  });
});
