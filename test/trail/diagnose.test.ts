import { describe, expect, it } from 'vitest';
import type { Json, StoredEvent } from '../../appliance/domain/event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import {
  type FailedStep,
  type Health,
  type Lifecycle,
  type LifecycleState,
  lifeIn,
} from '../../appliance/domain/lifecycle.ts';
import type { Session, SessionId } from '../../appliance/domain/session.ts';
import { diagnose, RULES } from '../../appliance/trail/diagnose.ts';
import { machineId } from '../machines/machines.ts';

const T0 = Date.UTC(2026, 0, 1);
type Told = readonly [afterSeconds: number, kind: string, data?: Json];

const eventsOf = (told: readonly Told[]): StoredEvent[] =>
  told.map(([after, kind, data = {}], seq) => ({
    seq,
    at: T0 + after * SECOND,
    kind,
    actor: 'mac:52:54:00:12:34:56',
    machine: machineId(1),
    correlationId: null,
    data,
  }));

const sessionWith = (changes: Partial<Session>): Session => ({
  id: 'session-1' as SessionId,
  machine: machineId(1),
  mode: 'install',
  order: {},
  ticketMadeAt: T0 + 20 * SECOND,
  ticketExpiresAt: T0 + 15 * MINUTE,
  openedAt: null,
  expiresAt: null,
  heardAt: null,
  sequence: 0,
  last: null,
  ended: null,
  ...changes,
});

const failedAt = (step: FailedStep, reason = 'deploying for 30 min, past its deadline.'): Lifecycle => ({
  ...lifeIn('failed', T0 + 30 * MINUTE),
  failure: { step, reason },
});

interface Subject {
  readonly state?: LifecycleState | Lifecycle;
  readonly health?: Health;
  readonly session?: Session;
  readonly minutes?: number;
}

const about = (
  told: readonly Told[],
  { state = 'deploying', health = 'unknown', session, minutes = 10 }: Subject = {},
) =>
  diagnose({
    hostname: 'node01',
    lifecycle: typeof state === 'string' ? lifeIn(state, T0) : state,
    health,
    interfaces: [{ mac: '52:54:00:12:34:56', network: 'boot' }],
    session: session ?? null,
    events: eventsOf(told),
    now: T0 + minutes * MINUTE,
  });

const BEGUN: Told = [0, 'lifecycle.deploying'];
const FIRMWARE = { mac: '52:54:00:12:34:56', program: 'firmware-pxe', network: 'boot' };
const ASKS: Told = [5, 'dhcp.discover', FIRMWARE];
const OFFERED: Told = [5, 'dhcp.offer', { address: '10.0.100.50' }];
const TAKES: Told = [6, 'dhcp.request', { program: 'firmware-pxe' }];
const HAS: Told = [6, 'dhcp.ack', { address: '10.0.100.50' }];
const LOADER: Told = [7, 'tftp.completed', { file: 'snponly.efi' }];
const IPXE: Told = [10, 'dhcp.discover', { program: 'ipxe' }];
const SCRIPT: Told = [20, 'http.script', { outcome: 'installer', words: 'it is armed' }];
const KERNEL: Told = [30, 'http.served', { asset: 'images/service-os-x86_64/initrd', complete: true }];
const UNTIL_KERNEL: readonly Told[] = [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER, IPXE, SCRIPT, KERNEL];
/** Under Secure Boot: shim, GRUB, its configuration, and the images over TFTP. */
const SHIM: Told = [7, 'tftp.completed', { file: 'shimx64.efi' }];
const GRUB: Told = [8, 'tftp.completed', { file: 'grubx64.efi' }];
const LISTS: Told = [10, 'tftp.not-found', { file: 'grub/x86_64-efi/command.lst', why: 'no such file' }];
const COMMON: Told = [11, 'tftp.completed', { file: 'grub/grub.cfg' }];
const OWN = 'grub/machine/52:54:00:12:34:56_7a11ab1e-0000-4080-8000-525400123456.cfg';
const CONFIG: readonly Told[] = [
  [12, 'tftp.completed', { file: OWN }],
  [12, 'boot.decided', { file: OWN, outcome: 'service-os', because: 'commissioning', words: 'it is commissioned' }],
];
const KERNEL_FILE = 'boot/service-os-x86_64/kernel';
const INITRD_FILE = 'boot/service-os-x86_64/initrd';
const UNTIL_GRUB: readonly Told[] = [
  ...[BEGUN, ASKS, OFFERED, TAKES, HAS, SHIM],
  [7, 'tftp.not-found', { file: 'revocations_sbat.efi', why: 'no such file' }],
  GRUB,
];
const UNTIL_CONFIG: readonly Told[] = [...UNTIL_GRUB, LISTS, COMMON, ...CONFIG];
/** 150 seconds for the initrd: a slow link, and GRUB asks for one block at a time. */
const UNTIL_IMAGES: readonly Told[] = [
  ...UNTIL_CONFIG,
  [13, 'tftp.begun', { file: KERNEL_FILE }],
  [20, 'tftp.completed', { file: KERNEL_FILE }],
  [21, 'tftp.begun', { file: INITRD_FILE }],
  [171, 'tftp.completed', { file: INITRD_FILE }],
];
const opened = sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + 70 * SECOND });
const failing = (step: string, message: string): Told => [90, 'session.step', { step, status: 'failed', message }];

const LOOP: Told = [30, 'dhcp.loop', { file: 'snponly.efi', times: 5 }];
const ELSEWHERE: Told = [5, 'dhcp.discover', { ...FIRMWARE, network: 'storage' }];

const CASES: readonly (readonly [id: string, told: readonly Told[], subject?: Subject])[] = [
  ['no-discover', [BEGUN]],
  ['start-by-hand', [BEGUN, [1, 'bmc.absent', { to_do: 'power cycle the machine by hand' }]]],
  ['power-failed', [BEGUN, [9, 'effect.failed', { effect: 'boot-from-network', reason: 'the BMC does not answer' }]]],
  ['no-answer-by-policy', [BEGUN, ASKS, [5, 'dhcp.silent', { words: 'nobody has accepted this machine' }]]],
  [
    'pool-exhausted',
    [BEGUN, IPXE, [20, 'dhcp.silent', { because: 'pool-exhausted', network: 'boot', words: 'every address is taken' }]],
  ],
  ['no-request', [BEGUN, ASKS, OFFERED]],
  ['address-refused', [BEGUN, ASKS, OFFERED, TAKES, [7, 'dhcp.nak', { because: 'wrong network' }]]],
  ['loader-not-fetched', [BEGUN, ASKS, OFFERED, TAKES, HAS]],
  ['loader-rejected', [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER]],
  ['script-not-fetched', [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER, IPXE]],
  ['kernel-not-fetched', UNTIL_KERNEL.slice(0, -1), { session: sessionWith({}) }],
  [
    'sent-elsewhere',
    [BEGUN, ASKS, HAS, LOADER, IPXE, [20, 'http.script', { outcome: 'local-disk', words: 'it was revoked' }]],
  ],
  ['boot-failed', [...UNTIL_KERNEL.slice(0, -1), [25, 'boot.failed', { stage: 'installer', errno: '4c116035' }]]],
  ['no-session', UNTIL_KERNEL, { session: sessionWith({}) }],
  [
    'session-refused',
    [...UNTIL_KERNEL, [60, 'session.refused', { reason: 'it comes from elsewhere' }]],
    { session: sessionWith({}) },
  ],
  ['session-silent', UNTIL_KERNEL, { session: opened }],
  [
    'call-home-failed',
    [...UNTIL_KERNEL, failing('rehearse', 'no answer from 10.0.100.10')],
    { state: failedAt('deploy'), session: opened },
  ],
  [
    'disk-not-found',
    [...UNTIL_KERNEL, failing('choose-disk', 'no disk of 2 TB')],
    { state: failedAt('deploy'), session: opened },
  ],
  [
    'image-hash-wrong',
    [...UNTIL_KERNEL, failing('check-image-sum', 'sha256 is ab instead of cd')],
    { state: failedAt('deploy'), session: opened },
  ],
  [
    'image-hash-wrong',
    [...UNTIL_KERNEL, failing('verify-image', 'the disk reads back other bytes')],
    { state: failedAt('deploy') },
  ],
  ['step-failed', [...UNTIL_KERNEL, failing('grow', 'no partition')], { state: failedAt('deploy'), session: opened }],
  [
    'restarted',
    [...UNTIL_KERNEL, [1800, 'lifecycle.failed', { event: 'install-failed', cause: 'restarted' }]],
    { state: failedAt('deploy', 'x') },
  ],
  ['node-silent', [[900, 'health.silent', { last_heard: T0 }]], { state: 'active', health: 'silent', minutes: 20 }],
  ['bundle-not-used', [[0, 'lifecycle.enrolling', { event: 'enroll' }]], { state: 'enrolling' }],
  ['boot-loop', [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER, LOOP], { minutes: 0.6 }],
  ['boot-loop', [ASKS, LOOP], { state: 'ready' }],
  ['wrong-network', [BEGUN, ELSEWHERE], { minutes: 0.1 }],
  ['wrong-network', [ELSEWHERE], { state: 'registered' }],
  ['no-first-boot', [...UNTIL_KERNEL, [200, 'lifecycle.enrolling', { event: 'installed' }]], { state: 'enrolling' }],
  [
    'boots-network-again',
    [
      ...UNTIL_KERNEL,
      [200, 'lifecycle.enrolling', { event: 'installed' }],
      [260, 'http.script', { outcome: 'local-disk' }],
    ],
    { state: 'enrolling' },
  ],
  [
    'enrolled-never',
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling', { event: 'installed' }], [260, 'dhcp.discover', { program: 'os' }]],
    { state: failedAt('enroll') },
  ],
  ['loader-not-fetched', [BEGUN, ASKS, OFFERED, TAKES, HAS, [7, 'tftp.error', { file: 'shimx64.efi', reason: 'x' }]]],
  ['loader-not-fetched', [BEGUN, ASKS, HAS, SHIM, [8, 'tftp.not-found', { file: 'grubx64.efi', why: 'no such file' }]]],
  ['loader-rejected', UNTIL_GRUB],
  ['script-not-fetched', [...UNTIL_GRUB, LISTS, COMMON]],
  ['script-not-fetched', [BEGUN, ASKS, HAS, LOADER, IPXE, [12, 'http.entry', { path: '/boot/ipxe/boot.ipxe' }]]],
  ['sent-elsewhere', [...UNTIL_GRUB, COMMON, [12, 'boot.decided', { outcome: 'local-disk', words: 'it was revoked' }]]],
  ['kernel-not-fetched', UNTIL_CONFIG, { session: sessionWith({}) }],
  ['no-session', UNTIL_IMAGES, { session: sessionWith({}) }],
  ['session-silent', UNTIL_IMAGES, { session: sessionWith({ openedAt: T0 + 200 * SECOND }) }],
  [
    'image-broken-off',
    [...UNTIL_IMAGES.slice(0, -1), [60, 'tftp.timeout', { file: INITRD_FILE, reason: 'nothing after block 7' }]],
    { session: sessionWith({}) },
  ],
  [
    'image-broken-off',
    [...UNTIL_KERNEL.slice(0, -1), [30, 'http.served', { asset: 'images/x/initrd', bytes: 5, of: 9, complete: false }]],
    { session: sessionWith({}) },
  ],
  [
    'boots-network-again',
    [
      ...[...UNTIL_IMAGES, [200, 'lifecycle.enrolling', { event: 'installed' }] as const],
      [255, 'dhcp.discover', { program: 'firmware-pxe' }],
      [260, 'boot.decided', { outcome: 'local-disk' }],
    ],
    { state: 'enrolling', session: sessionWith({ openedAt: T0 + 190 * SECOND, ended: null }) },
  ],
  ['quarantined', [], { state: 'quarantined' }],
  ['removed', [[90, 'http.script', { outcome: 'refusal' }]], { state: 'removed' }],
  ['deadline', [], { state: failedAt('drain', 'the workload cannot leave') }],
];

describe('why a machine is not where it should be', () => {
  it.each(CASES.map(([id, told, subject]) => ({ id, told, subject })))('$id', ({ id, told, subject }) => {
    const found = about(told, subject);
    expect(found?.id).toBe(id);
    expect(found?.reason).not.toMatch(/unknown|undefined|null/);
    expect(found?.nextStep).toMatch(/\S/);
    expect(found?.nextStep).not.toMatch(/undefined/);
    expect(found?.evidence.length).toBeGreaterThan(0);
  });

  it('has a case for every rule', () => {
    expect(new Set(CASES.map(([id]) => id))).toEqual(new Set(RULES.map(({ id }) => id)));
  });

  it('is nothing while every stage is within its time', () => {
    expect(about(UNTIL_KERNEL, { minutes: 1, session: sessionWith({}) })).toBeNull();
    expect(about([...UNTIL_KERNEL], { minutes: 2, session: opened })).toBeNull();
  });

  it.each([
    ['iPXE', UNTIL_KERNEL, 60],
    ['GRUB', UNTIL_IMAGES, 200],
  ])(
    'is nothing at any moment of a boot through %s that goes well, slow as it may be',
    (_loader, told, openedAfter) => {
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
        const soFar = told.filter(([after]) => after <= second);
        const found = about(soFar, { state: 'commissioning', minutes: second / 60, ...session });
        expect(found, `after ${second} s`).toBeNull();
      }
    },
  );

  it('is nothing about its boot once its service OS has come up, until it is started anew', () => {
    const talking = (second: number) => sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + second * SECOND });
    const early: readonly Told[] = [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER];
    expect(about(early, { session: talking(590) })).toBeNull();
    const again: readonly Told[] = [
      ...early,
      [300, 'dhcp.discover', { program: 'firmware-pxe' }],
      [300, 'dhcp.ack', { address: '10.0.100.50' }],
    ];
    expect(about(again, { session: talking(590) })?.id).toBe('loader-not-fetched');
  });

  it('says of GRUB what it is about, and what was asked for in vain', () => {
    expect(about([...UNTIL_GRUB, LISTS, COMMON])?.reason).toContain('GRUB runs on node01, and does not fetch its own');
    const alone = about([BEGUN, ASKS, HAS, SHIM, [8, 'tftp.not-found', { file: 'grubx64.efi', why: 'no such file' }]]);
    expect(alone?.reason).toBe(
      'node01 has shimx64.efi, but not what that loads next: tftp not-found, grubx64.efi: no such file',
    );
    expect(about(UNTIL_IMAGES, { session: sessionWith({}) })?.evidence[0]).toContain(`it fetched ${INITRD_FILE}`);
  });

  it('does not wait for ever for a transfer of which no end was noted', () => {
    const begun = UNTIL_IMAGES.slice(0, -1);
    expect(about(begun, { minutes: 10, session: sessionWith({}) })).toBeNull();
    expect(about(begun, { minutes: 40, session: sessionWith({}) })?.id).toBe('no-session');
  });

  it('is nothing for a machine of which nothing is wanted', () => {
    for (const state of ['registered', 'ready', 'active', 'retired'] as const)
      expect(about([BEGUN, ASKS], { state })).toBeNull();
  });

  it('looks at the last time that it was put to work, not at what went wrong before', () => {
    const before = [...UNTIL_KERNEL, failing('choose-disk', 'no disk')];
    expect(about([...before, [300, 'lifecycle.deploying']], { minutes: 20 })?.id).toBe('no-discover');
  });

  it('is the failed erasure, and not the BMC, when the release without erasure fails too', () => {
    const releasing = (before: string) => ({ event: 'x', before: { state: before }, after: { state: 'releasing' } });
    const told: readonly Told[] = [
      [0, 'lifecycle.releasing', releasing('active')],
      [90, 'session.step', { step: 'erase', status: 'failed', message: 'disk is frozen' }],
      [91, 'lifecycle.releasing', releasing('releasing')],
      [92, 'effect.failed', { effect: 'release-without-erase', reason: 'the site requires erasure' }],
    ];
    expect(about(told, { state: failedAt('release') })).toMatchObject({
      id: 'step-failed',
      reason: expect.stringContaining('disk is frozen'),
    });
    expect(about(told.slice(3), { state: failedAt('release') })?.id).toBe('deadline');
  });

  it('does not call an image broken off while it is being fetched again', () => {
    const broken: Told = [60, 'tftp.timeout', { file: INITRD_FILE, reason: 'nothing after block 7' }];
    const again: Told = [100, 'tftp.begun', { file: INITRD_FILE }];
    const until = [...UNTIL_IMAGES.slice(0, -1), broken];
    expect(about(until, { minutes: 4, session: sessionWith({}) })?.id).toBe('image-broken-off');
    expect(about([...until, again], { minutes: 4, session: sessionWith({}) })).toBeNull();
  });

  it('is the stage that it was stuck in, when it failed before the patience for that stage was over', () => {
    const told: readonly Told[] = [BEGUN, ASKS, OFFERED, TAKES, HAS];
    expect(about(told, { minutes: 0.2 })).toBeNull();
    expect(about(told, { minutes: 0.2, state: failedAt('deploy') })?.id).toBe('loader-not-fetched');
  });

  it('does not look at a session of earlier work', () => {
    const earlier = sessionWith({ ticketMadeAt: T0 - MINUTE, openedAt: T0 - MINUTE / 2, heardAt: T0 - MINUTE / 2 });
    expect(about([BEGUN], { session: earlier })?.id).toBe('no-discover');
  });
});
