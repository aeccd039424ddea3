import { describe, expect, it } from 'vitest';
import type { ApplianceProblem } from '../../appliance/domain/appliance-problem.ts';
import type { ConsoleStage } from '../../appliance/domain/console/signature.ts';
import { CONSOLE_SIGNATURES } from '../../appliance/domain/console/signatures.ts';
import type { StoredEvent } from '../../appliance/domain/event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { CAUSES, diagnose } from '../../appliance/trail/diagnose.ts';
import { FALLBACK_CAUSES } from '../../appliance/trail/diagnosis/causes/power-causes.ts';
import {
  CONSEQUENCES,
  SCREEN_CAUSES,
  SCREEN_CONSEQUENCES,
} from '../../appliance/trail/diagnosis/causes/screen-causes.ts';
import {
  ACK,
  BEGUN,
  COMMON,
  DISCOVER,
  FIRMWARE,
  failing,
  INITRD_FILE,
  IPXE,
  LISTS,
  LOADER,
  OFFER,
  opened,
  REQUEST,
  SHIM,
  UNTIL_GRUB,
  UNTIL_IMAGES,
  UNTIL_KERNEL,
} from './cases/boots.ts';
import { LOADER_CASES } from './cases/loader-cases.ts';
import { NODE_CASES } from './cases/node-cases.ts';
import { START_CASES } from './cases/start-cases.ts';
import { HEARD, MOUNT_FAILED, SYSTEM_CASES } from './cases/system-cases.ts';
import { WORK_CASES } from './cases/work-cases.ts';
import { eventsOf, failedAt, inputOf, type Observed, type Subject, sessionWith, T0 } from './observed.ts';

/** The most likely cause; null: nothing is wrong. */
const diagnosisOf = (observed: readonly Observed[], subject?: Subject) => diagnosisWith(eventsOf(observed), subject);

const diagnosisWith = (events: readonly StoredEvent[], subject: Subject = {}) =>
  diagnose(inputOf(events, subject)).causes[0] ?? null;

const CASES = [...START_CASES, ...LOADER_CASES, ...WORK_CASES, ...SYSTEM_CASES, ...NODE_CASES];

/** Where a machine stops that prints lines of this stage. */
const SCREENS: Readonly<Record<ConsoleStage, readonly [readonly Observed[], Subject]>> = {
  firmware: [[BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER], {}],
  loader: [[BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, IPXE], {}],
  kernel: [UNTIL_KERNEL, { session: sessionWith({}) }],
  initramfs: [UNTIL_KERNEL, { session: sessionWith({}) }],
  'service-os': [UNTIL_KERNEL, { session: sessionWith({}) }],
  system: [
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling', { event: 'installed' }]],
    { state: 'enrolling', minutes: 15 },
  ],
};

describe('diagnose', () => {
  it.each(CASES.map(([id, observed, subject]) => ({ id, observed, subject })))('$id', ({ id, observed, subject }) => {
    const found = diagnosisOf(observed, subject);
    expect(found?.id).toBe(id);
    expect(found?.reason).not.toMatch(/undefined|null|\{/);
    expect(found?.nextStep).toMatch(/\S/);
    expect(found?.nextStep).not.toMatch(/undefined|\{/);
    expect(found?.verify).toMatch(/\S/);
    expect(found?.verify).not.toMatch(/undefined|\{/);
    expect(found?.evidence.length).toBeGreaterThan(0);
  });

  it('has a case for every cause', () => {
    const covered = [...CASES.map(([id]) => id), ...[...SCREEN_CAUSES, ...SCREEN_CONSEQUENCES].map(({ id }) => id)];
    expect(new Set(covered)).toEqual(new Set([...CAUSES, ...FALLBACK_CAUSES].map(({ id }) => id)));
  });

  it('does not blame the boot device that another method set after all', () => {
    const refused: Observed = [3, 'bmc.boot-refused', { read_back: { device: 'disk', differences: [] } }];
    const lost = { device: 'network', differences: ['valid reads back as false, requested was true'] };
    const asked: Observed = [5, 'bmc.boot-asked', { read_back: lost }];
    const ignored: Observed = [60, 'bmc.boot-ignored', { words: 'the firmware ignored it', read_back: 'absent' }];
    expect(diagnosisOf([BEGUN, refused, asked], { minutes: 0.2 })).toBeNull();
    const found = diagnosisOf([BEGUN, refused, asked, ignored], { minutes: 2 });
    expect(found?.id).toBe('boot-override-ignored');
    expect(found?.evidence.map(({ words }) => words)).toEqual([
      'the firmware ignored it',
      'its BMC did not keep it: valid reads back as false, requested was true',
    ]);
    const without: Observed = [3, 'bmc.boot-refused', { read_back: 'absent' }];
    expect(diagnosisOf([BEGUN, without], { minutes: 0.2 })).toBeNull();
  });

  it('trusts a report about the system only while the node works and reports', () => {
    const node = { ...HEARD, clockOffset: 95_000, system: MOUNT_FAILED };
    const first = (subject: Subject, observed: readonly Observed[] = []) =>
      diagnosisOf(observed, { state: 'active', health: 'online', facts: { node }, ...subject })?.id ?? null;
    expect(first({})).toBe('unit-failed');
    expect(first({ health: 'silent' })).toBe('node-silent');
    expect(first({ state: 'retired' })).toBeNull();
    expect(first({ state: 'deploying', minutes: 0.1 }, [BEGUN])).toBeNull();
    expect(first({ facts: { node: { ...node, heardAt: T0 - 1 } } }, [BEGUN])).toBeNull();
    expect(first({ facts: { node: HEARD } })).toBeNull();
    expect(first({ facts: {} })).toBeNull();
  });

  it('blames a missing loader only for machines that it is for', () => {
    const missing: ApplianceProblem = {
      ...{ id: 'boot-file-missing', subject: 'shimx64.efi', words: 'the boot file shimx64.efi is missing', since: T0 },
      ...{
        nextStep: 'coldiron assets build',
        what: 'loader',
        architectures: ['7 (EFI x86-64)', '9 (EFI BC (x86-64 in practice))'],
      },
    };
    const first = (architecture: number, file: string) =>
      diagnosisOf(
        [
          BEGUN,
          [5, 'dhcp.discover', { ...FIRMWARE, architecture }],
          [5, 'dhcp.offer', { address: '10.0.100.50', file }],
        ],
        { facts: { appliance: [missing] } },
      )?.id;
    expect(first(0, 'undionly.kpxe')).toBe('no-request');
    expect(first(7, 'snponly.efi')).toBe('no-request');
    expect(first(7, 'shimx64.efi')).toBe('boot-file-damaged');
    expect(first(0, 'absent')).toBe('no-boot-file');
    expect(first(7, 'absent')).toBe('boot-file-damaged');
  });

  it('reports a damaged service OS before the machine needs it, if it is for its processor', () => {
    const damaged = (cpu: string): ApplianceProblem => ({
      ...{ id: 'boot-file-damaged', subject: `images/service-os-${cpu}/kernel`, words: 'it is of no type that boots' },
      ...{ since: T0, nextStep: 'coldiron assets build', what: 'service OS', architectures: [cpu] },
    });
    const first = (cpu: string) =>
      diagnosisOf([BEGUN, [5, 'dhcp.discover', { ...FIRMWARE, architecture: 0 }], OFFER, REQUEST, ACK, LOADER], {
        facts: { appliance: [damaged(cpu)] },
      });
    expect(first('x86_64')).toMatchObject({ id: 'boot-file-damaged', confidence: 'likely' });
    expect(first('arm64')?.id).toBe('loader-not-running');
  });

  it.each([...CONSEQUENCES])('reports the line %s on the screen after the cause that it follows from', (id) => {
    const line: Observed = [240, 'console.matched', { signature: id, stage: 'firmware', line: 'No bootable device.' }];
    const causes = (observed: readonly Observed[]) =>
      diagnose(inputOf(eventsOf(observed), { minutes: 10 })).causes.map((one) => one.id);
    expect(CONSOLE_SIGNATURES.some((signature) => signature.id === id)).toBe(true);
    const lost = causes([BEGUN, DISCOVER, OFFER, line]);
    expect(lost[0]).toBe('no-request');
    expect(lost).toContain(`screen-${id}`);
    expect(causes([BEGUN, DISCOVER, OFFER, REQUEST, ACK, line])[0]).toBe('loader-not-fetched');
  });

  it.each(CONSOLE_SIGNATURES.filter(({ severity, id }) => severity !== 'note' && !CONSEQUENCES.has(id)))(
    'reports the line $id on the screen before what follows from it, and only if the machine did not go on',
    ({ id, stage, example }) => {
      const line = (after: number): Observed => [after, 'console.matched', { signature: id, stage, line: example }];
      const [observed, subject] = SCREENS[stage];
      const found = diagnosisOf([...observed, line(240)], subject);
      expect(found).toMatchObject({ id: `screen-${id}`, explains: true });
      expect(found?.evidence).toMatchObject([{ source: 'console', words: example }]);
      expect(found?.nextStep).not.toMatch(/NODE|\{/);
      expect(diagnosisOf([line(0.5), ...observed], subject)?.id).not.toBe(`screen-${id}`);
    },
  );

  it('returns null while every stage is within its timeout', () => {
    expect(diagnosisOf(UNTIL_KERNEL, { minutes: 1, session: sessionWith({}) })).toBeNull();
    expect(diagnosisOf([...UNTIL_KERNEL], { minutes: 2, session: opened })).toBeNull();
  });

  it.each([
    ['iPXE', UNTIL_KERNEL, 60],
    ['GRUB', UNTIL_IMAGES, 200],
  ])('returns null at every moment of a slow but successful boot through %s', (_loader, observed, openedAfter) => {
    for (let second = 5; second < 240; second += 1) {
      const openedAt = second >= openedAfter ? T0 + openedAfter * SECOND : null;
      const session =
        second < 12
          ? {}
          : {
              session: sessionWith({
                ticketMadeAt: T0 + 12 * SECOND,
                openedAt,
                heardAt: openedAt && T0 + second * SECOND,
              }),
            };
      const soFar = observed.filter(([after]) => after <= second);
      const found = diagnosisOf(soFar, { state: 'commissioning', minutes: second / 60, ...session });
      expect(found, `after ${second} s`).toBeNull();
    }
  });

  it('ignores the boot stages after the service OS has started, until the machine restarts', () => {
    const talking = (second: number) => sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + second * SECOND });
    const early: readonly Observed[] = [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER];
    expect(diagnosisOf(early, { session: talking(590) })).toBeNull();
    const again: readonly Observed[] = [
      ...early,
      [300, 'dhcp.discover', { program: 'firmware-pxe' }],
      [300, 'dhcp.ack', { address: '10.0.100.50' }],
    ];
    expect(diagnosisOf(again, { session: talking(590) })?.id).toBe('loader-not-fetched');
  });

  it('names GRUB, and the file that it could not fetch', () => {
    expect(diagnosisOf([...UNTIL_GRUB, LISTS, COMMON])?.reason).toContain(
      'GRUB runs on node01, but does not fetch its own',
    );
    const alone = diagnosisOf([
      BEGUN,
      DISCOVER,
      ACK,
      SHIM,
      [8, 'tftp.not-found', { file: 'grubx64.efi', why: 'no such file' }],
    ]);
    expect(alone?.reason).toBe(
      'node01 has an address, but fetched shimx64.efi and not the file that it loads next: tftp not-found, grubx64.efi: no such file',
    );
    expect(diagnosisOf(UNTIL_IMAGES, { session: sessionWith({}) })?.evidence[0]?.words).toBe(
      `it fetched ${INITRD_FILE}`,
    );
  });

  it('treats a transfer without a recorded end as ended after 30 minutes', () => {
    const begun = UNTIL_IMAGES.slice(0, -1);
    expect(diagnosisOf(begun, { minutes: 10, session: sessionWith({}) })).toBeNull();
    expect(diagnosisOf(begun, { minutes: 40, session: sessionWith({}) })?.id).toBe('system-not-started');
  });

  it('returns null for a machine without work', () => {
    for (const state of ['registered', 'ready', 'active', 'retired'] as const)
      expect(diagnosisOf([BEGUN, DISCOVER], { state })).toBeNull();
  });

  it('considers only events since the current work started', () => {
    const before = [...UNTIL_KERNEL, failing('choose-disk', 'no disk')];
    expect(diagnosisOf([...before, [300, 'lifecycle.deploying']], { minutes: 20 })?.id).toBe('no-discover');
  });

  it('reports the failed erasure, not the BMC, when the release without erasure fails too', () => {
    const releasing = (before: string) => ({ event: 'x', before: { state: before }, after: { state: 'releasing' } });
    const observed: readonly Observed[] = [
      [0, 'lifecycle.releasing', releasing('active')],
      [90, 'session.step', { step: 'erase', status: 'failed', message: 'disk is frozen' }],
      [91, 'lifecycle.releasing', releasing('releasing')],
      [92, 'effect.failed', { effect: 'release-without-erase', reason: 'the site requires erasure' }],
    ];
    expect(diagnosisOf(observed, { state: failedAt('release') })).toMatchObject({
      id: 'step-failed',
      reason: expect.stringContaining('disk is frozen'),
    });
    expect(diagnosisOf(observed.slice(3), { state: failedAt('release') })?.id).toBe('deadline');
  });

  it('does not report an interrupted image while it is being fetched again', () => {
    const broken: Observed = [60, 'tftp.timeout', { file: INITRD_FILE, reason: 'nothing after block 7' }];
    const again: Observed = [100, 'tftp.begun', { file: INITRD_FILE }];
    const until = [...UNTIL_IMAGES.slice(0, -1), broken];
    expect(diagnosisOf(until, { minutes: 4, session: sessionWith({}) })?.id).toBe('image-broken-off');
    expect(diagnosisOf([...until, again], { minutes: 4, session: sessionWith({}) })).toBeNull();
  });

  it('waits half a minute for a power command', () => {
    const bmc = { power: 'unknown', problem: null, switching: { to: 'off', since: T0 + 2 * SECOND }, log: [] } as const;
    expect(diagnosisOf([BEGUN], { minutes: 0.5, facts: { bmc } })).toBeNull();
    expect(diagnosisOf([BEGUN], { minutes: 0.6, facts: { bmc } })?.reason).toContain('is not off');
  });

  it('does not judge a transfer that stalls for seconds before its stage is overdue', () => {
    const stall: Observed = [10, 'tftp.stalled', { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'x' }];
    const observed = [BEGUN, DISCOVER, OFFER, REQUEST, ACK, stall];
    expect(diagnosisOf(observed, { minutes: 0.4 })).toBeNull();
    expect(diagnosisOf(observed, { minutes: 2 })?.id).toBe('large-packets-lost');
  });

  it.each([
    ['no request arrives here', []],
    ['it requested undionly.kpxe, and the transfer has not ended', [[20, 'tftp.begun', { file: 'undionly.kpxe' }]]],
    ['requested only the size', [[20, 'tftp.probe', { file: 'snponly.efi' }]]],
  ] as const)('says what is known of the request for the loader: %s', (words, more) => {
    const observed: readonly Observed[] = [BEGUN, DISCOVER, OFFER, REQUEST, ACK, ...more];
    expect(diagnosisOf(observed, { minutes: 2 })?.reason).toContain(words);
  });

  it('counts a stalled transfer of an image as one that goes on', () => {
    const stall: Observed = [60, 'tftp.stalled', { file: INITRD_FILE, blocks: 7, reason: 'no packet' }];
    const observed = [...UNTIL_IMAGES.slice(0, -1), stall];
    expect(diagnosisOf(observed, { minutes: 4, session: sessionWith({}) })).toBeNull();
  });

  it('reports the stuck stage of a failed machine before the timeout of that stage', () => {
    const observed: readonly Observed[] = [BEGUN, DISCOVER, OFFER, REQUEST, ACK];
    expect(diagnosisOf(observed, { minutes: 0.2 })).toBeNull();
    expect(diagnosisOf(observed, { minutes: 0.2, state: failedAt('deploy') })?.id).toBe('loader-not-fetched');
  });

  it('leaves out events that another version wrote in another shape', () => {
    const events = eventsOf([BEGUN, DISCOVER]).map((event) =>
      event.kind === 'dhcp.discover' ? { ...event, data: { program: 'firmware-pxe' } } : event,
    );
    expect(diagnosisWith(events)?.id).toBe('no-discover');
  });

  it('ignores a session of earlier work', () => {
    const earlier = sessionWith({ ticketMadeAt: T0 - MINUTE, openedAt: T0 - MINUTE / 2, heardAt: T0 - MINUTE / 2 });
    expect(diagnosisOf([BEGUN], { session: earlier })?.id).toBe('no-discover');
  });
});
