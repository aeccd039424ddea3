import { describe, expect, it } from 'vitest';
import type { BootChoice } from '../../appliance/bmc/bmc.ts';
import type { DriverName } from '../../appliance/bmc/boot-methods.ts';
import { memoryLedger, type QuirkLedger } from '../../appliance/bmc/quirk-ledger.ts';
import { type BootExpectation, type BootReport, verified } from '../../appliance/bmc/verified.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { FakeMachine, FIRMWARE_ORDER, fakeBmc } from './fake-bmc.ts';
import { VirtualClock } from './virtual-clock.ts';

const TARGET = { device: 'network', firmware: 'efi' } as const;
const POST = 90 * SECOND;

interface RigOptions {
  readonly obeys?: (choice: BootChoice) => boolean;
  readonly drivers?: readonly DriverName[];
  readonly ledger?: QuirkLedger;
  readonly earlier?: readonly number[];
  readonly post?: number;
  readonly signal?: AbortSignal;
  readonly timeLeft?: number;
  readonly report?: (report: BootReport) => void | Promise<void>;
}

function rig(options: RigOptions = {}) {
  const { drivers = ['ipmi'], ledger = memoryLedger(), earlier = [], post = POST, signal } = options;
  const clock = new VirtualClock();
  const machine = new FakeMachine();
  const reports: BootReport[] = [];
  const seenAt: number[] = [];
  const watchers = new Set<() => void>();
  machine.obeys = options.obeys ?? machine.obeys;
  machine.onStart = (from) => {
    if (from.device !== 'network') return;
    clock.wakeAt(clock.now() + post, () => {
      seenAt.push(clock.now());
      for (const watcher of watchers) watcher();
    });
  };
  const expectation: BootExpectation = {
    earlier,
    deadline: options.timeLeft === undefined ? null : clock.now() + options.timeLeft,
    ...(signal ? { signal } : {}),
    seen: (since, aborted) =>
      new Promise((resolve, reject) => {
        aborted.addEventListener('abort', () => reject(aborted.reason), { once: true });
        watchers.add(() => {
          const at = seenAt.find((moment) => moment >= since);
          if (at !== undefined) resolve(at);
        });
      }),
  };
  const bmcs = drivers.map((driver) => ({ driver, bmc: fakeBmc(machine, {}, driver) }));
  const record = (report: BootReport): void | Promise<void> => {
    reports.push(report);
    return options.report?.(report);
  };
  const deps = { clock, ledger, report: record };
  const bootFrom = () => clock.until(verified(bmcs, deps).bootFrom(TARGET, expectation));
  return {
    clock,
    machine,
    ledger,
    reports,
    bootFrom,
    kinds: () => reports.map(({ kind, method }) => `${kind} ${method}`),
  };
}

describe('a verified boot', () => {
  it('sets, reads back, powers on, and reports when the machine showed up', async () => {
    const { bootFrom, machine, kinds, reports } = rig();
    expect(await bootFrom()).toEqual({ method: 'ipmi-efi-once', took: POST });
    expect(machine.verbs).toEqual(['identity', 'setBoot', 'powerOff', 'powerOn']);
    expect(kinds()).toEqual(['asked ipmi-efi-once', 'obeyed ipmi-efi-once']);
    expect(reports.map((one) => one.read_back)).toEqual([{ device: 'network', differences: [] }, undefined]);
    expect(reports.at(-1)?.words).toBe(
      'the machine boots from network: it showed up after 90 s (IPMI, the UEFI bit set, once)',
    );
  });

  it('reports that the firmware ignored the override, and retries without the UEFI bit', async () => {
    const { bootFrom, machine, kinds, reports } = rig({ obeys: ({ firmware }) => firmware === 'legacy' });
    expect(await bootFrom()).toEqual({ method: 'ipmi-legacy-once', took: POST });
    expect(kinds()).toEqual([
      'asked ipmi-efi-once',
      'ignored ipmi-efi-once',
      'undone ipmi-efi-once',
      'asked ipmi-legacy-once',
      'obeyed ipmi-legacy-once',
    ]);
    expect(reports[1]?.words).toContain('the firmware ignored it: the machine did not show up within 480 s');
    expect(machine.starts).toHaveLength(2);
  });

  it('sets the override again after power-off from the second attempt on, because some BMCs lose it', async () => {
    const { bootFrom, machine } = rig({ obeys: ({ firmware }) => firmware === 'legacy' });
    await bootFrom();
    expect(machine.verbs.slice(machine.verbs.lastIndexOf('powerOff'))).toEqual(['powerOff', 'setBoot', 'powerOn']);
  });

  it('removes a persistent override after it worked', async () => {
    const { bootFrom, machine, kinds } = rig({ obeys: ({ persistent }) => persistent });
    expect(await bootFrom()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(kinds().slice(-2)).toEqual(['obeyed ipmi-efi-persistent', 'undone ipmi-efi-persistent']);
    expect(machine.boot).toEqual(FIRMWARE_ORDER);
  });

  it('records a persistent override before it is set, and skips it when it cannot be recorded', async () => {
    const obeys = ({ persistent }: BootChoice): boolean => persistent;
    let startsBefore = -1;
    const written = rig({
      obeys,
      report: async ({ kind }) => {
        if (kind === 'lasting') startsBefore = written.machine.starts.length;
      },
    });
    await written.bootFrom();
    expect(startsBefore).toBe(2);
    const unwritten = rig({
      obeys,
      report: ({ kind }) => (kind === 'lasting' ? Promise.reject(new Error('the disk is gone')) : undefined),
    });
    await expect(unwritten.bootFrom()).rejects.toThrow('the disk is gone');
    expect(unwritten.machine.starts).toHaveLength(2);
    expect(unwritten.machine.boot).toEqual(FIRMWARE_ORDER);
  });

  it('ends before the deadline, and shares the time between the methods', async () => {
    const { bootFrom, clock, reports } = rig({ obeys: () => false, timeLeft: 20 * MINUTE });
    const began = clock.now();
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'contradiction' });
    expect(clock.now() - began).toBe(15 * MINUTE);
    expect(reports.filter(({ kind }) => kind === 'ignored')).toHaveLength(3);
  });

  it('skips methods without enough time, and reports it', async () => {
    const slow = { earlier: [6 * MINUTE], obeys: () => false, timeLeft: 20 * MINUTE };
    const { bootFrom, clock, kinds } = rig(slow);
    const began = clock.now();
    await expect(bootFrom()).rejects.toThrow(/for every boot: not tried: too little time is left/);
    expect(clock.now() - began).toBe(15 * MINUTE);
    expect(kinds().at(-1)).toBe('no-time ipmi-efi-persistent');
  });

  it('reports a persistent override that cannot be removed', async () => {
    const { bootFrom, machine, reports } = rig({ obeys: ({ persistent }) => persistent });
    const { onStart } = machine;
    machine.onStart = (from) => {
      onStart(from);
      if (from.persistent) machine.fails.set('setBoot', 'vanished');
    };
    await bootFrom();
    expect(reports.at(-1)).toMatchObject({
      kind: 'not-undone',
      words: expect.stringContaining('may boot from network at every boot'),
    });
  });

  it('falls back to Redfish when IPMI does not work', async () => {
    let starts = 0;
    const { bootFrom, kinds } = rig({ drivers: ['ipmi', 'redfish'], obeys: () => ++starts > 2 });
    expect(await bootFrom()).toMatchObject({ method: 'redfish-efi-once' });
    expect(kinds().filter((kind) => kind.startsWith('ignored'))).toEqual([
      'ignored ipmi-efi-once',
      'ignored ipmi-legacy-once',
    ]);
  });

  it('falls back to Redfish at once when IPMI is unreachable', async () => {
    const { bootFrom, machine, kinds } = rig({ drivers: ['ipmi', 'redfish'] });
    machine.fails.set('ipmi setBoot', 'unreachable');
    expect(await bootFrom()).toMatchObject({ method: 'redfish-efi-once' });
    expect(kinds()).toEqual(['refused ipmi-efi-once', 'asked redfish-efi-once', 'obeyed redfish-efi-once']);
  });

  it('lists all attempts when none worked, and leaves no override set', async () => {
    const { bootFrom, machine, clock } = rig({ obeys: () => false });
    const began = clock.now();
    await expect(bootFrom()).rejects.toMatchObject({
      failure: 'contradiction',
      retryable: false,
      message: expect.stringMatching(
        /does not boot from network\. Tried: IPMI, the UEFI bit set, once: .*ignored.*clear, once: .*for every boot: .*Check its console/,
      ),
    });
    expect(clock.now() - began).toBe(3 * 8 * MINUTE);
    expect(machine.boot).toEqual(FIRMWARE_ORDER);
    expect(clock.pending).toBe(0);
  });

  it('rethrows a BMC failure unchanged, so that it is retried later', async () => {
    const { bootFrom, machine } = rig();
    machine.fails.set('setBoot', 'busy');
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'busy', retryable: true });
    expect(machine.starts).toEqual([]);
  });

  it('does not change a machine whose BMC rejects the login', async () => {
    const { bootFrom, machine } = rig();
    machine.fails.set('identity', 'authentication');
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'authentication' });
    expect(machine.verbs).toEqual(['identity']);
  });

  it('distinguishes a machine that powered off from firmware that ignores the override', async () => {
    const ignored: string[] = [];
    const ledger: QuirkLedger = { ...memoryLedger(), ignored: async (_, method) => void ignored.push(method) };
    const { bootFrom, machine } = rig({ ledger, obeys: () => false });
    machine.onStart = () => {
      machine.power = 'off';
    };
    await expect(bootFrom()).rejects.toThrow('the machine was powered on and is off again');
    expect(ignored).toEqual([]);
    machine.onStart = () => undefined;
    await expect(bootFrom()).rejects.toThrow('the firmware ignored');
    expect(ignored).toEqual(['ipmi-efi-once', 'ipmi-legacy-once', 'ipmi-efi-persistent']);
  });

  it('stops waiting when it is aborted, and keeps a one-time override that may still take effect', async () => {
    const stop = new AbortController();
    const { bootFrom, clock, machine } = rig({ signal: stop.signal, obeys: () => false });
    clock.wakeAt(clock.now() + MINUTE, () => stop.abort(new Error('the appliance stops')));
    await expect(bootFrom()).rejects.toThrow('the appliance stops');
    expect(clock.pending).toBe(0);
    expect(machine.boot).toMatchObject({ device: 'network', persistent: false });
  });

  it('removes a persistent override even when it is aborted', async () => {
    const stop = new AbortController();
    const ledger = memoryLedger();
    await ledger.worked({ vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0' }, 'ipmi-efi-persistent', 1);
    const { bootFrom, clock, machine } = rig({ signal: stop.signal, ledger, obeys: () => false });
    clock.wakeAt(clock.now() + MINUTE, () => stop.abort(new Error('the appliance stops')));
    await expect(bootFrom()).rejects.toThrow('the appliance stops');
    expect(machine.boot).toEqual(FIRMWARE_ORDER);
  });
});

describe('the boot history', () => {
  it('selects the first method for the next machine of the kind', async () => {
    const ledger = memoryLedger();
    const obeys = ({ persistent }: BootChoice): boolean => persistent;
    await rig({ ledger, obeys }).bootFrom();
    const next = rig({ ledger, obeys });
    expect(await next.bootFrom()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(next.machine.starts).toHaveLength(1);
  });

  it('sets the wait: long for a slow machine, short for a fast one', async () => {
    const slow = rig({ earlier: [6 * MINUTE, 7 * MINUTE, 6.5 * MINUTE], post: 12 * MINUTE });
    expect(await slow.bootFrom()).toMatchObject({ method: 'ipmi-efi-once', took: 12 * MINUTE });
    const quick = rig({ earlier: [20 * SECOND, 25 * SECOND], obeys: ({ firmware }) => firmware === 'legacy' });
    await quick.bootFrom();
    expect(quick.reports[1]?.words).toContain('did not show up within 120 s');
  });
});
