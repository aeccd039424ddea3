import { describe, expect, it } from 'vitest';
import { BootWatch } from '../../../appliance/bmc/access/boot-watch.ts';
import { storedLedger } from '../../../appliance/bmc/access/ledger.ts';
import { NetworkBoot } from '../../../appliance/bmc/access/network-boot.ts';
import { pause } from '../../../appliance/bmc/clock.ts';
import type { BootReport } from '../../../appliance/bmc/verified.ts';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { lifeIn } from '../../../appliance/domain/lifecycle.ts';
import type { BmcEndpoint, Machine } from '../../../appliance/domain/machine.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { mac, newEvent } from '../../store/samples.ts';
import { NoteBoard } from '../../trail/note-board.ts';
import { BY, openerRig } from './opener-rig.ts';

const BOOT_TIME = 90 * SECOND;

async function bootRig(driver: BmcEndpoint['driver'] = 'ipmi') {
  const rig = await openerRig({ driver });
  const { store, opener, machine, clock, hardware, keep } = rig;
  await keep('current', 'factory');
  const trail = new NoteBoard();
  const watch = new BootWatch(trail, () => clock.now());
  const fleet = new Fleet();
  /** Null: it is removed. */
  const become = (changed: Machine | null): void => {
    const removed = { ...machine, lifecycle: lifeIn('removed', clock.now()), version: machine.version + 1 };
    fleet.update([changed ?? removed], fleet.at);
  };
  become(machine);
  const stopping = new AbortController();
  const networkBoot = new NetworkBoot({
    opener,
    watch,
    store,
    clock,
    ledger: storedLedger(store, () => clock.now()),
    current: (id) => fleet.machineById(id),
    onChange: (id, listener) => fleet.watch(id, listener),
    stopping: stopping.signal,
    witness: () => rig.witness,
  });
  hardware.onStart = ({ device }) => {
    if (device !== 'network') return;
    clock.wakeAt(clock.now() + BOOT_TIME, () =>
      trail.note({ kind: 'dhcp.discover', mac: mac(1), machine: machine.id, data: sampleData('dhcp.discover') }),
    );
  };
  const reports: BootReport[] = [];
  const boot = () =>
    networkBoot.bootFromNetwork(machine, async (report) => {
      reports.push(report);
    });
  return { ...rig, networkBoot, fleet, become, stopping, reports, boot };
}

describe('booting from the network', () => {
  it('ends when the machine showed up, and records the boot time', async () => {
    const { clock, boot, reports, store, machine, bmcLogin } = await bootRig();
    expect(await clock.until(boot())).toEqual({ kind: 'seen', method: 'ipmi-efi-once', took: BOOT_TIME });
    expect(reports.map(({ kind }) => kind)).toEqual(['asked', 'obeyed']);
    expect(await store.bootTimes(machine.id)).toEqual([BOOT_TIME]);
    expect(bmcLogin.open).toBe(0);
  });

  it('tries another method when the firmware ignores the override, and starts with it the next time', async () => {
    const { clock, boot, reports, store, hardware } = await bootRig();
    hardware.obeys = ({ firmware }) => firmware === 'legacy';
    expect(await clock.until(boot())).toMatchObject({ kind: 'seen', method: 'ipmi-legacy-once' });
    expect(reports.map(({ kind, method }) => `${kind} ${method}`)).toContain('ignored ipmi-efi-once');
    expect(reports.find(({ kind }) => kind === 'ignored')?.words).toContain(
      'the BMC accepted the setting and the firmware ignored it',
    );
    expect(await store.bmcQuirks()).toMatchObject([
      { method: 'ipmi-efi-once', worked: 0, ignored: 1 },
      { method: 'ipmi-legacy-once', worked: 1, ignored: 0 },
    ]);
    reports.length = 0;
    await clock.until(boot());
    expect(reports.map(({ kind, method }) => `${kind} ${method}`)).toEqual([
      'asked ipmi-legacy-once',
      'obeyed ipmi-legacy-once',
    ]);
  });

  it('is aborted when the machine leaves its state, and leaves no override set', async () => {
    const { clock, boot, hardware, become, machine, reports } = await bootRig();
    hardware.obeys = () => false;
    const starts = clock.now();
    clock.wakeAt(starts + 3 * MINUTE, () => {
      const lifecycle = { ...machine.lifecycle, state: 'failed', since: clock.now() } as const;
      become({ ...machine, lifecycle, version: machine.version + 1 });
    });
    expect(await clock.until(boot())).toEqual({ kind: 'moved-on', reason: 'the machine is now failed' });
    expect(clock.now() - starts).toBe(3 * MINUTE);
    expect(hardware.starts).toHaveLength(1);
    expect(hardware.boot.device).toBe('none');
    expect(reports.at(-1)).toMatchObject({ kind: 'undone' });
    expect(clock.pending).toBe(0);
  });

  it('is aborted while the BMC ignores power: the machine is not switched after it left its state', async () => {
    const { clock, boot, hardware, become, machine } = await bootRig();
    // Each request takes a minute and a half, and the power stays as it is: the wait for the machine never begins.
    hardware.pause = () => pause(clock, 90 * SECOND);
    hardware.fails.set('powerOff', 'contradiction');
    const left = clock.now() + MINUTE;
    clock.wakeAt(left, () => {
      // Quarantined, cleared and deployed again: the same state, another visit.
      const lifecycle = { ...machine.lifecycle, since: clock.now() };
      become({ ...machine, lifecycle, version: machine.version + 1 });
    });
    expect(await clock.until(boot())).toMatchObject({ kind: 'moved-on' });
    const later = hardware.verbs.slice(hardware.verbs.indexOf('powerOff') + 1);
    expect(later.filter((verb) => verb.startsWith('power'))).toEqual([]);
    expect(hardware.boot.device).toBe('none');
  });

  it('does not switch on a machine that leaves its state while it is off', async () => {
    const { clock, boot, hardware, become, machine } = await bootRig();
    hardware.onPowerOff = () => {
      const lifecycle = { ...machine.lifecycle, state: 'failed', since: clock.now() } as const;
      become({ ...machine, lifecycle, version: machine.version + 1 });
    };
    expect(await clock.until(boot())).toMatchObject({ kind: 'moved-on' });
    expect(hardware.starts).toEqual([]);
    expect(hardware.boot.device).toBe('none');
  });

  it('holds the machine off until its witness has seen enough, and does not start it if that ends the visit', async () => {
    const { clock, boot, hardware, become, witness } = await bootRig();
    // As the real one: the second call, right before the start, finds that enough time has passed.
    witness.heldOff = (_machine, _most, signal) => (signal ? pause(clock, 40 * SECOND) : Promise.resolve());
    const began = clock.now();
    expect(await clock.until(boot())).toMatchObject({ kind: 'seen', took: BOOT_TIME });
    expect(clock.now() - began).toBe(40 * SECOND + BOOT_TIME);
    witness.expects = () => true;
    witness.reading = async () => become(null);
    expect(await clock.until(boot())).toMatchObject({ kind: 'moved-on' });
    expect(hardware.starts).toHaveLength(1);
  });

  it('is aborted also when the override cannot be removed, and reports that', async () => {
    const { clock, boot, hardware, become, reports } = await bootRig();
    hardware.obeys = () => false;
    clock.wakeAt(clock.now() + MINUTE, () => {
      hardware.fails.set('setBoot', 'vanished');
      become(null);
    });
    expect(await clock.until(boot())).toMatchObject({ kind: 'moved-on' });
    expect(reports.at(-1)).toMatchObject({ kind: 'not-undone', words: expect.stringContaining('vanished') });
  });

  it('is not aborted by an older version of the machine', async () => {
    const { clock, boot, fleet, become, machine } = await bootRig();
    const older = {
      ...machine,
      lifecycle: { ...machine.lifecycle, state: 'ready' },
      version: machine.version - 1,
    } as const;
    for (const forget of [() => fleet.replace(new Fleet().inventory()), () => become(older)]) {
      forget();
      clock.wakeAt(clock.now() + 5 * SECOND, () => become(machine));
      expect(await clock.until(boot())).toMatchObject({ kind: 'seen' });
    }
  });

  it('is aborted when the machine is removed', async () => {
    const { clock, boot, become } = await bootRig();
    clock.wakeAt(clock.now() + SECOND, () => become(null));
    expect(await clock.until(boot())).toEqual({ kind: 'moved-on', reason: 'the machine is now removed' });
  });

  it('is aborted when the appliance stops, and resumes later', async () => {
    const { clock, boot, stopping } = await bootRig();
    clock.wakeAt(clock.now() + SECOND, () => stopping.abort(new Error('the appliance stops')));
    await expect(clock.until(boot())).rejects.toThrow('the appliance stops');
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  it('fails at its end, and not before, when it could not be reported', async () => {
    const { clock, networkBoot, machine, hardware } = await bootRig();
    const unreported = networkBoot.bootFromNetwork(machine, () => Promise.reject(new Error('the disk is gone')));
    await expect(clock.until(unreported)).rejects.toThrow('the disk is gone');
    expect(hardware.starts).toHaveLength(1);
  });

  it('lists all attempts when none worked', async () => {
    const { clock, boot, hardware } = await bootRig();
    hardware.obeys = () => false;
    await expect(clock.until(boot())).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringMatching(/Tried: .*the firmware ignored/),
    });
  });

  it('falls back to Redfish when the node has both and IPMI does not work', async () => {
    const { clock, boot, hardware, bmcLogin } = await bootRig('ipmi+redfish');
    let starts = 0;
    hardware.obeys = () => ++starts > 2;
    expect(await clock.until(boot())).toMatchObject({ kind: 'seen', method: 'redfish-efi-once' });
    expect([...new Set(bmcLogin.drivers)]).toEqual(['ipmi', 'redfish']);
  });

  it('removes the override over the protocol that set it', async () => {
    const { clock, boot, hardware, bmcLogin, become } = await bootRig('ipmi+redfish');
    hardware.obeys = () => false;
    hardware.onStart = () => {
      if (hardware.starts.length === 3) become(null);
    };
    expect(await clock.until(boot())).toMatchObject({ kind: 'moved-on' });
    expect(bmcLogin.drivers.at(-1)).toBe('redfish');
    expect(hardware.boot.device).toBe('none');
  });

  it('continues with a password that was changed meanwhile', async () => {
    const { clock, boot, hardware, keys, machine, bmcLogin } = await bootRig();
    hardware.obeys = ({ firmware }) => firmware === 'legacy';
    let rotated: Promise<unknown> = Promise.resolve();
    clock.wakeAt(clock.now() + MINUTE, () => {
      rotated = keys.rotate(machine, BY);
    });
    expect(await clock.until(boot())).toMatchObject({ kind: 'seen', method: 'ipmi-legacy-once' });
    await rotated;
    expect(bmcLogin.password).not.toBe('factory');
  });

  it('ends before the deadline of the state', async () => {
    const { clock, networkBoot, machine, hardware } = await bootRig();
    hardware.obeys = () => false;
    const began = clock.now();
    const hurried = { ...machine, lifecycle: { ...machine.lifecycle, deadline: began + 20 * MINUTE } };
    await expect(clock.until(networkBoot.bootFromNetwork(hurried, async () => undefined))).rejects.toThrow('Tried:');
    expect(clock.now() - began).toBeLessThan(20 * MINUTE);
  });

  it('uses legacy mode for a machine whose last boot was BIOS', async () => {
    const { clock, boot, store, machine } = await bootRig();
    const data = { ...sampleData('dhcp.discover'), program: 'firmware-pxe', architecture: 0 };
    await store.appendEvents([newEvent('dhcp.discover', { machine: machine.id, data })]);
    expect(await clock.until(boot())).toMatchObject({ method: 'ipmi-legacy-once' });
  });
});

describe('whether a machine has booted from the network', () => {
  it('is read from the trail, also of an earlier process', async () => {
    const { networkBoot, store, machine, clock } = await bootRig();
    const at = clock.now();
    const packet = (program: string, when: number) =>
      newEvent('dhcp.discover', { machine: machine.id, at: when, data: { ...sampleData('dhcp.discover'), program } });
    await store.appendEvents([packet('ipxe', at - 1), packet('os', at + 1)]);
    expect(await networkBoot.bootedSince(machine, at)).toBe(false);
    await store.appendEvents([packet('firmware-pxe', at + 2)]);
    expect(await networkBoot.bootedSince(machine, at)).toBe(true);
  });
});
