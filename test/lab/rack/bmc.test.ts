// Our IPMI client and emulated machines: OpenIPMI's simulator is the BMC of each, and QEMU runs behind it. ipmitool checks
// the results independently. Needs root.

import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BmcConsole } from '../../../appliance/bmc/bmc.ts';
import { IPMI_DEPS, withIpmiSession } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { powerOn, powerStatus } from '../../../appliance/bmc/ipmi/power.ts';
import { PRIVILEGE, setSessionPrivilege } from '../../../appliance/codecs/ipmi/commands/session-commands.ts';
import { BOOT_WITHIN_MS, FROM_DISK, FROM_NETWORK, markDisk, serverOf, useRack } from './bmc-rig.ts';
import { fairClock } from './fair-clock.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const NETWORK_ONCE = { device: 'network', persistent: false, firmware: null } as const;

/** Our client with shorter timeouts, for a BMC that does not exist. */
const IMPATIENT = { ...IPMI_DEPS, timings: { ...IPMI_DEPS.timings, firstWait: 1000, tries: 3 } };

describe('a machine with a BMC', () => {
  const rig = useRack();
  afterEach(() => serverOf(rig().slot).powerOff());
  const opened = () => {
    const bmc = rig().bmc();
    onTestFinished(() => bmc.close());
    return bmc;
  };
  const bootShows = async (marker: RegExp): Promise<string> => {
    const clock = fairClock(() => serverOf(rig().slot).pid);
    await rig().slot.serial.console.waitFor(marker, BOOT_WITHIN_MS, clock);
    return rig().slot.serial.console.text;
  };

  it('switches on and off: a process starts and ends', async () => {
    const bmc = opened();
    expect(await bmc.powerState()).toBe('off');
    await bmc.powerOn();
    const { pid } = serverOf(rig().slot);
    expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).toContain('qemu-system-x86_64');
    expect(await bmc.powerState()).toBe('on');
    // A second power-on starts no second machine.
    await bmc.powerOn();
    expect(serverOf(rig().slot).pid).toBe(pid);
    await bmc.powerOff();
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(await rig().ipmitool('power', 'status')).toContain('is off');
  });

  it('boots from the network once when requested, and from its disk afterwards', async () => {
    const bmc = opened();
    const { device } = await bmc.setBoot(NETWORK_ONCE);
    expect(device).toBe('network');
    expect(await rig().ipmitool('chassis', 'bootparam', 'get', '5')).toContain('Force PXE');
    await bmc.powerOn();
    expect(await bootShows(FROM_NETWORK)).not.toMatch(FROM_DISK);
    expect(await rig().ipmitool('chassis', 'bootparam', 'get', '5')).toContain('No override');

    await bmc.powerReset();
    await bootShows(FROM_DISK);
    await bmc.powerOff();
    await bmc.powerOn();
    expect(await bootShows(FROM_DISK)).not.toMatch(FROM_NETWORK);
  });

  it('applies a boot device that is set while it runs at its next reset', async () => {
    const bmc = opened();
    await bmc.powerOn();
    await bootShows(FROM_DISK);
    const { pid } = serverOf(rig().slot);
    await bmc.setBoot(NETWORK_ONCE);
    await bmc.powerReset();
    await bootShows(FROM_NETWORK);
    expect(serverOf(rig().slot).pid, 'a reset is no new start of QEMU').toBe(pid);
    await bmc.powerCycle();
    expect(await bootShows(FROM_DISK)).not.toMatch(FROM_NETWORK);
    expect(serverOf(rig().slot).pid, 'losing power is one').not.toBe(pid);
    await bmc.powerOff();
  });

  it('shows its console from the first byte of the firmware, also to clients that connected before power-on', async () => {
    const bmc = opened();
    await bmc.powerOff();
    // A unique text: the BMC replays earlier output to each client that opens the console.
    const text = 'this is the disk, seen through the BMC';
    markDisk(rig().disk, text);
    const printedBefore = readFileSync(rig().slot.serial.file).length;
    const console = await bmc.openConsole({ steal: true });
    await bmc.powerOn();
    const seen = await readUntil(console, new RegExp(text));
    await console.close();
    await bmc.powerOff();
    const printed = readFileSync(rig().slot.serial.file).subarray(printedBefore).toString('latin1');
    expect(printed).toMatch(/^[\s\S]{0,20}SeaBIOS \(version/);
    expect(seen).toContain(printed.slice(0, printed.indexOf(text) + text.length));
  });

  it('receives input typed at the console', async () => {
    const bmc = opened();
    await bmc.setBoot(NETWORK_ONCE);
    const console = await bmc.openConsole({ steal: true });
    await bmc.powerOn();
    // iPXE waits two seconds for a key: on a busy machine that is over before anyone has read the prompt.
    const pressingCtrlB = setInterval(() => console.write(Uint8Array.of(2)), 200);
    await readUntil(console, /iPXE> /).finally(() => clearInterval(pressingCtrlB));
    // Waits for the echo of each key, like a person: a serial port buffers sixteen characters and drops the rest.
    for (const typed of ['echo', ' typ', 'ed-$', '{net', '0/ma', 'c}']) {
      console.write(new TextEncoder().encode(typed));
      await readUntil(console, typed);
    }
    console.write(new TextEncoder().encode('\n'));
    expect(await readUntil(console, /typed-52:54/)).toMatch(/typed-52:54/);
    await console.close();
    await bmc.powerOff();
  });

  it('reports sensors with thresholds, events and FRU data', async () => {
    const bmc = opened();
    expect(await bmc.sensors()).toMatchObject([
      { name: 'CPU_Temp', kind: 'temperature', value: 45, unit: '°C', health: 'ok' },
      { name: 'Inlet_Temp', kind: 'temperature', value: 22, unit: '°C', health: 'ok' },
      { name: 'Fan_1', kind: 'fan', value: 6000, unit: 'RPM', health: 'ok' },
    ]);
    const sensors = await rig().ipmitool('sensor');
    expect(sensors).toMatch(/CPU_Temp .*\| ok .*\| 80\.000 .*\| 90\.000 .*\| 100\.000/);
    expect(sensors).toMatch(/Fan_1 .*\| 500\.000 .*\| 1000\.000 .*\| 2000\.000/);
    expect(await bmc.identity()).toMatchObject({ serial: 'CLD0001' });
    expect(await rig().ipmitool('fru')).toMatch(/Product Manufacturer\s+: Coldiron/);

    expect(await bmc.eventLog()).toHaveLength(1);
    await bmc.clearEventLog();
    expect(await rig().ipmitool('sel', 'info')).toMatch(/Entries\s+: 0/);
  });

  it('turns on its identify light', async () => {
    const bmc = opened();
    await bmc.identify({ seconds: 200 });
    expect(serverOf(rig().slot).lightIsOn).toBe(true);
    await bmc.identify('off');
    expect(serverOf(rig().slot).lightIsOn).toBe(false);
  });

  it('rejects a wrong password', async () => {
    const stranger = ipmiBmc(rig().target('guessed'), { efi: false }, IPMI_DEPS);
    onTestFinished(() => stranger.close());
    await expect(stranger.powerOn()).rejects.toMatchObject({ failure: 'authentication', retryable: false });
    expect(serverOf(rig().slot).isOn).toBe(false);
  });

  it('rejects power commands in a session with user privilege, and still reports the state', async () => {
    await withIpmiSession(rig().target(), IPMI_DEPS, async (connection) => {
      await connection.call({ ...setSessionPrivilege('operator'), data: Uint8Array.of(PRIVILEGE.user) });
      await expect(powerOn(connection)).rejects.toThrow(/privilege/);
      expect(await powerStatus(connection)).toBe('off');
    });
    expect(serverOf(rig().slot).isOn).toBe(false);
  });

  it('stops replying in the middle of a session, and replies again later', async () => {
    const bmc = ipmiBmc(rig().target(), { efi: false }, IMPATIENT);
    onTestFinished(() => bmc.close());
    expect(await bmc.powerState()).toBe('off');
    await rig().rack.fault({ target: 'node01', kind: 'bmc-hangs', on: true });
    await expect(bmc.powerState()).rejects.toMatchObject({ retryable: true });
    await rig().rack.fault({ target: 'node01', kind: 'bmc-hangs', on: false });
    expect(await rig().bmc().powerState()).toBe('off');

    await rig().rack.fault({ target: 'node01', kind: 'bmc-gone', on: true });
    expect(rig().rack.status().machines[0]?.bmc).toMatchObject({ state: 'gone', pid: null });
    await expect(ipmiBmc(rig().target(), { efi: false }, IMPATIENT).powerState()).rejects.toMatchObject({
      retryable: true,
    });
    await rig().rack.fault({ target: 'node01', kind: 'bmc-gone', on: false });
    expect(await opened().powerState()).toBe('off');
  });
});

async function readUntil(console: BmcConsole, marker: RegExp | string): Promise<string> {
  let text = '';
  for await (const bytes of console) {
    text += Buffer.from(bytes).toString('latin1');
    if (typeof marker === 'string' ? text.includes(marker) : marker.test(text)) return text;
  }
  throw new Error(`the console ended before ${marker}`);
}
