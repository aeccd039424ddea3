import { describe, expect, it } from 'vitest';
import type { BootChoice } from '../../appliance/bmc/bmc.ts';
import type { DriverName } from '../../appliance/bmc/boot-methods.ts';
import { memoryLedger, type QuirkLedger } from '../../appliance/bmc/quirk-ledger.ts';
import { type BootExpectation, type BootReport, verified } from '../../appliance/bmc/verified.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { FakeMachine, fakeBmc, OWN_ORDER } from './fake-bmc.ts';
import { VirtualClock } from './virtual-clock.ts';

const WISH = { device: 'network', firmware: 'efi' } as const;
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
  const report = (said: BootReport): void | Promise<void> => {
    reports.push(said);
    return options.report?.(said);
  };
  const tools = { clock, ledger, report };
  const bootFrom = () => clock.until(verified(bmcs, tools).bootFrom(WISH, expectation));
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
  it('sets, reads back, starts, and says when the machine was seen', async () => {
    const { bootFrom, machine, kinds, reports } = rig();
    expect(await bootFrom()).toEqual({ method: 'ipmi-efi-once', took: POST });
    expect(machine.verbs).toEqual(['identity', 'setBoot', 'powerOff', 'powerOn']);
    expect(kinds()).toEqual(['asked ipmi-efi-once', 'obeyed ipmi-efi-once']);
    expect(reports.at(-1)?.words).toBe(
      'the machine boots from network: it was seen after 90 s (IPMI, the UEFI bit set, once)',
    );
  });

  it('says that the firmware ignored it, and goes on without the UEFI bit', async () => {
    const { bootFrom, machine, kinds, reports } = rig({ obeys: ({ firmware }) => firmware === 'legacy' });
    expect(await bootFrom()).toEqual({ method: 'ipmi-legacy-once', took: POST });
    expect(kinds()).toEqual([
      'asked ipmi-efi-once',
      'ignored ipmi-efi-once',
      'undone ipmi-efi-once',
      'asked ipmi-legacy-once',
      'obeyed ipmi-legacy-once',
    ]);
    expect(reports[1]?.words).toContain('the BMC accepted, the firmware ignored: not seen within 480 s');
    expect(machine.starts).toHaveLength(2);
  });

  it('tells a machine that is off once more from the second try on, for some forget when the power goes', async () => {
    const { bootFrom, machine } = rig({ obeys: ({ firmware }) => firmware === 'legacy' });
    await bootFrom();
    expect(machine.verbs.slice(machine.verbs.lastIndexOf('powerOff'))).toEqual(['powerOff', 'setBoot', 'powerOn']);
  });

  it('takes a lasting choice back after it has worked', async () => {
    const { bootFrom, machine, kinds } = rig({ obeys: ({ persistent }) => persistent });
    expect(await bootFrom()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(kinds().slice(-2)).toEqual(['obeyed ipmi-efi-persistent', 'undone ipmi-efi-persistent']);
    expect(machine.boot).toEqual(OWN_ORDER);
  });

  it('has a lasting choice written down before the BMC hears of it, and does without one that cannot be', async () => {
    const obeys = ({ persistent }: BootChoice): boolean => persistent;
    let toldBefore = -1;
    const written = rig({
      obeys,
      report: async ({ kind }) => {
        if (kind === 'lasting') toldBefore = written.machine.starts.length;
      },
    });
    await written.bootFrom();
    expect(toldBefore).toBe(2);
    const unwritten = rig({
      obeys,
      report: ({ kind }) => (kind === 'lasting' ? Promise.reject(new Error('the disk is gone')) : undefined),
    });
    await expect(unwritten.bootFrom()).rejects.toThrow('the disk is gone');
    expect(unwritten.machine.starts).toHaveLength(2);
    expect(unwritten.machine.boot).toEqual(OWN_ORDER);
  });

  it('is over before its time is up, with a fair share for each way', async () => {
    const { bootFrom, clock, reports } = rig({ obeys: () => false, timeLeft: 20 * MINUTE });
    const began = clock.now();
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'contradiction' });
    expect(clock.now() - began).toBe(15 * MINUTE);
    expect(reports.filter(({ kind }) => kind === 'ignored')).toHaveLength(3);
  });

  it('leaves out what there is no time for, and says so', async () => {
    const slow = { earlier: [6 * MINUTE], obeys: () => false, timeLeft: 20 * MINUTE };
    const { bootFrom, clock, kinds } = rig(slow);
    const began = clock.now();
    await expect(bootFrom()).rejects.toThrow(/for every start: not tried: its time is nearly up/);
    expect(clock.now() - began).toBe(15 * MINUTE);
    expect(kinds().at(-1)).toBe('no-time ipmi-efi-persistent');
  });

  it('says so when a lasting choice cannot be taken back', async () => {
    const { bootFrom, machine, reports } = rig({ obeys: ({ persistent }) => persistent });
    const { onStart } = machine;
    machine.onStart = (from) => {
      onStart(from);
      if (from.persistent) machine.fails.set('setBoot', 'vanished');
    };
    await bootFrom();
    expect(reports.at(-1)).toMatchObject({
      kind: 'not-undone',
      words: expect.stringContaining('may boot from network at every start'),
    });
  });

  it('goes to Redfish when IPMI does not do it', async () => {
    let starts = 0;
    const { bootFrom, kinds } = rig({ drivers: ['ipmi', 'redfish'], obeys: () => ++starts > 2 });
    expect(await bootFrom()).toMatchObject({ method: 'redfish-efi-once' });
    expect(kinds().filter((kind) => kind.startsWith('ignored'))).toEqual([
      'ignored ipmi-efi-once',
      'ignored ipmi-legacy-once',
    ]);
  });

  it('goes to Redfish at once when IPMI cannot be reached', async () => {
    const { bootFrom, machine, kinds } = rig({ drivers: ['ipmi', 'redfish'] });
    machine.fails.set('ipmi setBoot', 'unreachable');
    expect(await bootFrom()).toMatchObject({ method: 'redfish-efi-once' });
    expect(kinds()).toEqual(['refused ipmi-efi-once', 'asked redfish-efi-once', 'obeyed redfish-efi-once']);
  });

  it('names everything that was tried when nothing worked, and leaves no choice behind', async () => {
    const { bootFrom, machine, clock } = rig({ obeys: () => false });
    const began = clock.now();
    await expect(bootFrom()).rejects.toMatchObject({
      failure: 'contradiction',
      retryable: false,
      message: expect.stringMatching(
        /does not boot from network\. Tried: IPMI, the UEFI bit set, once: .*ignored.*clear, once: .*for every start: .*Look at its console/,
      ),
    });
    expect(clock.now() - began).toBe(3 * 8 * MINUTE);
    expect(machine.boot).toEqual(OWN_ORDER);
    expect(clock.pending).toBe(0);
  });

  it('throws what keeps it from the BMC as it is, so that it is tried again later', async () => {
    const { bootFrom, machine } = rig();
    machine.fails.set('setBoot', 'busy');
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'busy', retryable: true });
    expect(machine.starts).toEqual([]);
  });

  it('does not touch a machine whose BMC does not let it in', async () => {
    const { bootFrom, machine } = rig();
    machine.fails.set('identity', 'authentication');
    await expect(bootFrom()).rejects.toMatchObject({ failure: 'authentication' });
    expect(machine.verbs).toEqual(['identity']);
  });

  it('tells a machine that went off again from firmware that ignores', async () => {
    const ignored: string[] = [];
    const ledger: QuirkLedger = { ...memoryLedger(), ignored: async (_, method) => void ignored.push(method) };
    const { bootFrom, machine } = rig({ ledger, obeys: () => false });
    machine.onStart = () => {
      machine.power = 'off';
    };
    await expect(bootFrom()).rejects.toThrow('the machine was switched on, and is off again');
    expect(ignored).toEqual([]);
    machine.onStart = () => undefined;
    await expect(bootFrom()).rejects.toThrow('the firmware ignored');
    expect(ignored).toEqual(['ipmi-efi-once', 'ipmi-legacy-once', 'ipmi-efi-persistent']);
  });

  it('stops waiting when it is told to, and does not take away what the firmware may yet obey', async () => {
    const stop = new AbortController();
    const { bootFrom, clock, machine } = rig({ signal: stop.signal, obeys: () => false });
    clock.wakeAt(clock.now() + MINUTE, () => stop.abort(new Error('the appliance stops')));
    await expect(bootFrom()).rejects.toThrow('the appliance stops');
    expect(clock.pending).toBe(0);
    expect(machine.boot).toMatchObject({ device: 'network', persistent: false });
  });

  it('takes a lasting choice back even when it is told to stop', async () => {
    const stop = new AbortController();
    const ledger = memoryLedger();
    await ledger.worked({ vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0' }, 'ipmi-efi-persistent', 1);
    const { bootFrom, clock, machine } = rig({ signal: stop.signal, ledger, obeys: () => false });
    clock.wakeAt(clock.now() + MINUTE, () => stop.abort(new Error('the appliance stops')));
    await expect(bootFrom()).rejects.toThrow('the appliance stops');
    expect(machine.boot).toEqual(OWN_ORDER);
  });
});

describe('what is learned', () => {
  it('is tried first with the next machine of the kind', async () => {
    const ledger = memoryLedger();
    const obeys = ({ persistent }: BootChoice): boolean => persistent;
    await rig({ ledger, obeys }).bootFrom();
    const next = rig({ ledger, obeys });
    expect(await next.bootFrom()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(next.machine.starts).toHaveLength(1);
  });

  it('is the usual time of the machine: one that takes long is waited for, one that is quick is not', async () => {
    const slow = rig({ earlier: [6 * MINUTE, 7 * MINUTE, 6.5 * MINUTE], post: 12 * MINUTE });
    expect(await slow.bootFrom()).toMatchObject({ method: 'ipmi-efi-once', took: 12 * MINUTE });
    const quick = rig({ earlier: [20 * SECOND, 25 * SECOND], obeys: ({ firmware }) => firmware === 'legacy' });
    await quick.bootFrom();
    expect(quick.reports[1]?.words).toContain('not seen within 120 s');
  });
});
