import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Captures } from '../../../appliance/bmc/console/captures.ts';
import { ConsoleFiles } from '../../../appliance/bmc/console/console-files.ts';
import { SharedConsole } from '../../../appliance/bmc/console/shared-console.ts';
import type { NewEvent } from '../../../appliance/domain/event.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { type LifecycleState, lifeIn } from '../../../appliance/domain/lifecycle.ts';
import type { Machine, MachineId } from '../../../appliance/domain/machine.ts';
import type { Subscriber } from '../../../appliance/store/change.ts';
import { aMachine } from '../../machines/machines.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { FakeSessions } from './fake-session.ts';

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
};

function rig({ machines = 1, most }: { machines?: number; most?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-captures-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new VirtualClock();
  const fleet = new Map<MachineId, Machine>();
  const bmcs = new Map<MachineId, FakeSessions>();
  const hubs = new Map<MachineId, SharedConsole>();
  const address = { of: (_machine: Machine): string | null => '10.0.0.1' };
  for (let number = 1; number <= machines; number++) {
    const id = `11111111-0000-4000-8000-00000000000${number}` as MachineId;
    const bmc = new FakeSessions();
    fleet.set(id, { ...aMachine({}), id, lifecycle: lifeIn('ready', 0) });
    bmcs.set(id, bmc);
    hubs.set(id, new SharedConsole({ clock, open: bmc.open, onIdle: () => undefined }));
  }
  const [first] = [...fleet.keys()];
  const [bmc] = [...bmcs.values()];
  if (!first || !bmc) throw new Error('there is no machine');
  const events: NewEvent[] = [];
  const files = new ConsoleFiles(folder, clock, { warn: () => undefined });
  let subscriber: Subscriber = () => undefined;
  const captures = new Captures({
    clock,
    files,
    store: {
      appendEvents: async (all) => void events.push(...all),
      subscribe: (given) => {
        subscriber = given;
        return () => undefined;
      },
    },
    machines: () => fleet.values(),
    current: (id) => fleet.get(id) ?? null,
    consoleOf: (machine) => address.of(machine),
    follow: (machine, follower) => {
      const hub = hubs.get(machine.id);
      if (!hub) throw new Error('there is no console');
      return hub.follow(follower);
    },
    log: { warn: (fields) => expect(fields).toBeNull() },
    ...(most !== undefined && { most }),
  });
  const commit = async (state: LifecycleState, id = first): Promise<void> => {
    const before = fleet.get(id);
    if (!before) throw new Error('there is no such machine');
    const machine = { ...before, lifecycle: lifeIn(state, clock.now()) };
    fleet.set(id, machine);
    await subscriber({ change: null, machine, revision: 1, events: [] });
    await settled();
  };
  const said = async (boot: 'current' | 'previous' = 'current') =>
    (await files.read(first, boot, 1000)).map(({ text }) => text);
  const kinds = () => events.map(({ kind, data }) => [kind, data]);
  const changed = async () => {
    await subscriber({ change: null, machine: null, revision: 1, events: [] });
    await settled();
  };
  return { captures, clock, commit, changed, said, kinds, bmc, bmcs, first, fleet, folder, address, events };
}

describe('a capture', () => {
  it('runs while the machine is worked on, and some minutes after', async () => {
    const { captures, clock, commit, bmc, said } = rig();
    captures.start();
    expect(bmc.opened).toEqual([]);
    await commit('deploying');
    bmc.print('hello\r\n');
    await settled();
    await commit('enrolling');
    await commit('active');
    bmc.print('first boot\r\n');
    await clock.advance(9 * MINUTE);
    expect([captures.size, bmc.active, bmc.opened.length]).toEqual([1, 1, 1]);
    await clock.advance(2 * MINUTE);
    expect([captures.size, bmc.active]).toEqual([0, 0]);
    expect(await said()).toEqual(['hello', 'first boot']);
  });

  it('begins at the start of the appliance where work goes on', async () => {
    const { captures, fleet, first, bmc } = rig();
    fleet.set(first, { ...aMachine({}), id: first, lifecycle: lifeIn('commissioning', 0) });
    captures.start();
    await settled();
    expect(bmc.active).toBe(1);
    await captures.stop();
    expect(captures.size).toBe(0);
  });

  it('is open before the machine is started, but does not delay it for long', async () => {
    const { captures, clock, commit, bmc, first } = rig();
    const gate = Promise.withResolvers<void>();
    bmc.gate = gate.promise;
    captures.start();
    await commit('commissioning');
    let started = false;
    const starting = captures.beforeStart(first).then(() => {
      started = true;
    });
    await settled();
    expect(started).toBe(false);
    gate.resolve();
    await starting;
    expect(bmc.active).toBe(1);

    const slow = rig();
    slow.bmc.gate = new Promise(() => undefined);
    slow.captures.start();
    await slow.commit('commissioning');
    const began = slow.clock.now();
    await slow.clock.until(slow.captures.beforeStart(slow.first));
    expect(slow.clock.now() - began).toBeLessThanOrEqual(5 * SECOND);
    await clock.until(captures.beforeStart('22222222-0000-4000-8000-000000000001' as MachineId));
  });

  it('keeps the boot before', async () => {
    const { captures, commit, bmc, said, first } = rig();
    captures.start();
    await commit('deploying');
    bmc.print('service OS\r\n');
    await settled();
    captures.expectBoot(first);
    bmc.print('installed system\r\n');
    await settled();
    expect([await said('previous'), await said()]).toEqual([['service OS'], ['installed system']]);
  });

  it('shows the line that is not ended', async () => {
    const { captures, commit, bmc, first } = rig();
    captures.start();
    await commit('deploying');
    bmc.print('grub rescue> ');
    await settled();
    expect(captures.capture(first)).toMatchObject({ isOpen: true, unfinished: 'grub rescue>' });
  });

  it('does not run where no console can be used, and no error is recorded', async () => {
    const { captures, commit, bmc, address, events } = rig();
    address.of = () => null;
    captures.start();
    await commit('deploying');
    expect([captures.size, bmc.opened.length, events.length]).toEqual([0, 0, 0]);
  });

  it('ends when the BMC may not be used any more, and follows the machine to another BMC', async () => {
    const { captures, commit, changed, bmc, address } = rig();
    captures.start();
    await commit('deploying');
    address.of = () => '10.0.0.2';
    await changed();
    expect([captures.size, bmc.opened.length >= 1]).toEqual([1, true]);
    address.of = () => null;
    await changed();
    expect(captures.size).toBe(0);
  });

  it('ends with the machine, and so do its files', async () => {
    const { captures, commit, bmc, folder, clock } = rig();
    captures.start();
    await commit('deploying');
    bmc.print('hello\r\n');
    await clock.advance(3 * SECOND);
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    await commit('removed');
    await expect.poll(() => readdirSync(folder)).toEqual([]);
    expect(captures.size).toBe(0);
  });

  it('is limited in number; the next one begins when another ends', async () => {
    const { captures, clock, commit, bmcs, fleet } = rig({ machines: 3, most: 2 });
    captures.start();
    const ids = [...fleet.keys()];
    for (const id of ids) {
      await commit('deploying', id);
      await clock.advance(SECOND);
    }
    const active = () => ids.map((id) => bmcs.get(id)?.active);
    expect(active()).toEqual([1, 1, 0]);
    await commit('active', ids[0]);
    await clock.advance(5 * SECOND);
    expect(active()).toEqual([0, 1, 1]);
  });
});

describe('a known line', () => {
  it('becomes an event, once for each boot', async () => {
    const { captures, commit, bmc, kinds, first } = rig();
    captures.start();
    await commit('deploying');
    const panic = (time: string) => `[    ${time}] Kernel panic - not syncing: Fatal exception\r\n`;
    bmc.print(`all is well\r\n${panic('1.000000')}${panic('2.000000')}`);
    await settled();
    const matched = (line: string) => ['console.matched', { signature: 'panic', stage: 'kernel', line }];
    expect(kinds()).toEqual([matched('[    1.000000] Kernel panic - not syncing: Fatal exception')]);
    captures.expectBoot(first);
    bmc.print(panic('3.000000'));
    await settled();
    expect(kinds()).toHaveLength(2);
  });

  it('is found in a prompt that is not ended', async () => {
    const { captures, clock, commit, bmc, kinds } = rig();
    captures.start();
    await commit('deploying');
    bmc.print('grub rescue> ');
    await settled();
    expect(kinds()).toEqual([]);
    await clock.advance(2 * SECOND);
    expect(kinds()).toMatchObject([['console.matched', { signature: 'grub-rescue', line: 'grub rescue>' }]]);
    bmc.print('\r');
    await clock.advance(2 * SECOND);
    expect(kinds()).toHaveLength(1);
  });

  it('is limited in number, however the machine prints it', async () => {
    const { captures, commit, bmc, events } = rig();
    captures.start();
    await commit('deploying');
    for (let at = 0; at < 300; at++) {
      bmc.print(
        `[    1.000000] Linux version ${at}\r\nerror: file number ${at} is missing.\r\nPXE-E${at % 100}: x\r\n`,
      );
      await settled();
    }
    expect(events.length).toBeGreaterThan(10);
    expect(events.length).toBeLessThanOrEqual(60);
  });

  it('has no secret in it', async () => {
    const { captures, commit, bmc, kinds } = rig();
    captures.start();
    await commit('deploying');
    bmc.print('curl: (22) error for http://10.0.0.1/boot/session/Q0ldirOnSampleTicketForTheConsoleTests_0123\r\n');
    await settled();
    expect(kinds()).toMatchObject([
      ['console.matched', { line: 'curl: (22) error for http://10.0.0.1/boot/session/[secret]' }],
    ]);
  });
});

describe('a console that cannot be captured', () => {
  it('because somebody else has it is recorded once, and captured later', async () => {
    const { captures, clock, commit, bmc, kinds } = rig();
    bmc.taken = true;
    captures.start();
    await commit('deploying');
    await clock.advance(5 * MINUTE);
    expect(kinds()).toEqual([['console.not-captured', { because: 'another client has the console' }]]);
    expect(bmc.opened.every(({ steal }) => !steal)).toBe(true);
    bmc.taken = false;
    await clock.advance(MINUTE);
    expect(bmc.active).toBe(1);
  });

  it('because of the BMC or the password makes no noise, and is tried again in the next state', async () => {
    const { captures, clock, commit, bmc, kinds } = rig();
    bmc.failures.push('unreachable', 'authentication');
    captures.start();
    await commit('commissioning');
    await clock.advance(30 * MINUTE);
    await commit('commissioning');
    expect([captures.size, bmc.opened.length, kinds().length]).toEqual([1, 3, 0]);
  });
});
