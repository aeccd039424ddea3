// Injected faults, each observed from outside: by a client, a machine or the kernel. Needs root.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { IPMI_DEPS } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import type { FaultKind } from '../../../appliance/lab/rack/faults.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import { needPackages } from '../../interop/packages.ts';
import { BOOT_WITHIN_MS, FROM_DISK, FROM_NETWORK, serverOf, useRack } from './bmc-rig.ts';
import { fairClock } from './fair-clock.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

describe('a fault', () => {
  beforeAll(() => needPackages(['tcpdump']));
  const rig = useRack();
  const begin = (target: string, kind: FaultKind, more: { value?: string; file?: string } = {}) =>
    rig().rack.fault({ target, kind, on: true, ...more });
  const end = (target: string, kind: FaultKind) => rig().rack.fault({ target, kind, on: false });
  const consoleShows = (marker: RegExp) =>
    rig().slot.serial.console.waitFor(
      marker,
      BOOT_WITHIN_MS,
      fairClock(() => serverOf(rig().slot).pid),
    );
  const rules = () => rig().rack.network.run('nft', 'list', 'ruleset');

  const withImpatience = () => {
    const tools = { ...IPMI_DEPS, timings: { ...IPMI_DEPS.timings, firstWait: 100, tries: 3 } };
    return opened(tools);
  };
  const opened = (tools = IPMI_DEPS) => {
    const bmc = ipmiBmc(rig().target(), { efi: false }, tools);
    onTestFinished(() => bmc.close());
    return bmc;
  };

  afterEach(async () => {
    for (const { target, kind } of rig().rack.status().faults) await end(target, kind);
    await serverOf(rig().slot).powerOff();
  });

  it('is listed while it is active, replaced when it is set again, and leaves nothing behind', async () => {
    await begin('node01', 'loss');
    await begin('node01', 'loss', { value: '55' });
    expect(rig().rack.status().faults).toMatchObject([{ target: 'node01', kind: 'loss', amount: '55 %' }]);
    expect(await rules()).toContain('< 55 drop');
    await end('node01', 'loss');
    await end('node01', 'loss');
    expect(rig().rack.status().faults).toEqual([]);
    expect(await rules()).not.toContain('drop');
  });

  it.each([
    ['node02', 'loss', {}, 'this rack has no node02'],
    ['node01', 'rogue-dhcp', {}, 'applies to a network'],
    ['network', 'bmc-hangs', {}, 'applies to a machine'],
    ['node01', 'loss', { value: '101' }, '1 to 100 %'],
    ['node01', 'bmc-gone', { value: '5' }, 'takes no value'],
    ['node01', 'power-cut', {}, 'needs a value'],
    ['node01', 'power-cut', { value: '(' }, 'not a regular expression'],
    ['node01', 'loss', { file: '/tmp/x' }, 'no file'],
  ] as const)('rejects %s %s %j with a reason', async (target, kind, more, words) => {
    await expect(begin(target, kind, more)).rejects.toThrow(words);
    expect(rig().rack.status().faults).toEqual([]);
  });

  it("loss drops the machine's packets: its DHCP requests are never answered", async () => {
    const bridge = await listenForDhcp(rig().rack.network, 'dst port 67');
    await begin('node01', 'loss', { value: '100' });
    await serverOf(rig().slot).setBootFlag('pxe');
    await serverOf(rig().slot).powerOn();
    const sent = async (): Promise<number> => {
      const [link] = JSON.parse(await rig().rack.network.run('ip', '-j', '-s', 'link', 'show', 'tap0'));
      return link.stats64.rx.packets;
    };
    const before = await sent();
    await expect.poll(sent, { timeout: BOOT_WITHIN_MS, interval: 200 }).toBeGreaterThan(before + 1);
    expect(bridge.count()).toBe(0);
    await end('node01', 'loss');
    // It keeps sending requests.
    await bridge.one();
  });

  it('slow adds a token bucket towards the machine, and a limit in the other direction', async () => {
    await begin('network', 'slow', { value: '800' });
    expect(await rig().rack.network.run('tc', 'qdisc', 'show', 'dev', 'tap0')).toContain('tbf');
    expect(await rules()).toMatch(/iifname "tap0" limit rate over 100 kbytes\/second/);
    expect(rig().rack.status().faults[0]).toMatchObject({ amount: '800 kbit/s', note: '' });
    await end('network', 'slow');
    expect(await rig().rack.network.run('tc', 'qdisc', 'show', 'dev', 'tap0')).not.toContain('tbf');
  });

  it('stp blocks the port from power-on until the time is up', async () => {
    const bridge = await listenForDhcp(rig().rack.network, 'dst port 67');
    await begin('node01', 'stp', { value: '8' });
    await serverOf(rig().slot).setBootFlag('pxe');
    await serverOf(rig().slot).powerOn();
    expect(await rules()).toContain('table bridge block_tap0');
    // iPXE keeps sending requests for longer than that.
    await bridge.one();
    expect(await rules()).not.toContain('block_tap0');
  });

  it('rogue-dhcp replies to a machine', async () => {
    await begin('network', 'rogue-dhcp');
    const answers = await listenForDhcp(rig().rack.network, 'src host 10.77.66.1 and dst port 68');
    await serverOf(rig().slot).setBootFlag('pxe');
    await serverOf(rig().slot).powerOn();
    await answers.one();
    await end('network', 'rogue-dhcp');
    expect(await rig().rack.network.run('ip', 'link')).not.toContain('port');
  });

  it('bmc-loss drops packets to the BMC, which keeps running', async () => {
    await begin('node01', 'bmc-loss', { value: '100' });
    await expect(withImpatience().powerState()).rejects.toMatchObject({ failure: 'unreachable' });
    expect(rig().slot.bmc?.state).toBe('answering');
    await end('node01', 'bmc-loss');
    expect(await opened().powerState()).toBe('off');
  });

  it('bmc-ignores-boot accepts and reports the boot device, and the machine still boots from its disk', async () => {
    await begin('node01', 'bmc-ignores-boot');
    await rig().ipmitool('chassis', 'bootdev', 'pxe');
    expect(await rig().ipmitool('chassis', 'bootparam', 'get', '5')).toContain('Force PXE');
    await rig().ipmitool('power', 'on');
    await consoleShows(FROM_DISK);
    expect(rig().slot.serial.console.text).not.toMatch(FROM_NETWORK);
  });

  it('bmc-ignores-power accepts commands and does nothing; the button on the machine works', async () => {
    await begin('node01', 'bmc-ignores-power');
    expect(await rig().ipmitool('power', 'on')).toContain('Up/On');
    expect(await rig().ipmitool('power', 'status')).toContain('is off');
    await serverOf(rig().slot).powerOn();
    expect(await rig().ipmitool('power', 'status')).toContain('is on');
  });

  it('disk-readonly and disk-small apply when the machine starts', async () => {
    await begin('node01', 'disk-readonly');
    await begin('node01', 'disk-small', { value: '1' });
    await serverOf(rig().slot).powerOn();
    await consoleShows(FROM_DISK);
    const words = await rig().rack.network.run('ps', '-o', 'args=', '-p', String(serverOf(rig().slot).pid));
    expect(words).toMatch(/disk\.img,readonly=on,size=1048576/);
  });

  it('power-cut occurs once, when the console shows a text', async () => {
    // Long before it reaches its disk: the cut may be late on a busy machine.
    await begin('node01', 'power-cut', { value: 'SeaBIOS' });
    await serverOf(rig().slot).powerOn();
    await expect(consoleShows(FROM_DISK)).rejects.toThrow(/SIGKILL/);
    expect(rig().rack.status().faults).toEqual([]);
    await serverOf(rig().slot).powerOn();
    await consoleShows(FROM_DISK);
  });

  it('power-cut occurs when a text is written to a file, and ignores earlier content', async () => {
    const file = join(rig().folder, 'appliance.log');
    writeFileSync(file, 'tftp.completed\n');
    await begin('node01', 'power-cut', { value: 'tftp\\.completed', file });
    await serverOf(rig().slot).powerOn();
    await consoleShows(FROM_DISK);
    expect(serverOf(rig().slot).isOn).toBe(true);
    appendFileSync(file, '{"msg":"tftp.comp');
    appendFileSync(file, 'leted"}\n');
    await expect(consoleShows(/never/)).rejects.toThrow(/SIGKILL/);
    expect(serverOf(rig().slot).isOn).toBe(false);
  });
});

/** On the appliance's side of the bridge; ends with the test. */
async function listenForDhcp(network: RackNetwork, which: string) {
  const filter = ['udp', 'and', ...which.split(' ')];
  const [command, ...args] = network.command('tcpdump', '-i', network.bridge, '-l', '-n', ...filter);
  const listener = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(listener, 'close');
  onTestFinished(async () => {
    listener.kill('SIGKILL');
    await ended;
  });
  let seen = 0;
  let wake = (): void => {};
  listener.stdout.on('data', (bytes: Buffer) => {
    seen += bytes.toString('latin1').split('BOOTP/DHCP').length - 1;
    if (seen > 0) wake();
  });
  // tcpdump prints a line when it listens.
  await once(listener.stderr, 'data');
  return {
    count: () => seen,
    one: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
        if (seen > 0) resolve();
      }),
  };
}
