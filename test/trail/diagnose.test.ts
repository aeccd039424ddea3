import { describe, expect, it } from 'vitest';
import type { Event, Json } from '../../appliance/domain/event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { type FailedStep, type Lifecycle, type LifecycleState, lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { Session, SessionId } from '../../appliance/domain/session.ts';
import { diagnose, RULES } from '../../appliance/trail/diagnose.ts';
import { machineId } from '../lifecycle/machines.ts';

const T0 = Date.UTC(2026, 0, 1);
type Told = readonly [afterSeconds: number, kind: string, data?: Json];

const eventsOf = (told: readonly Told[]): Event[] =>
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

const failedAt = (step: FailedStep, reason = 'deploying for 30 min without an end.'): Lifecycle => ({
  ...lifeIn('failed', T0 + 30 * MINUTE),
  failure: { step, reason },
});

interface Subject {
  readonly state?: LifecycleState | Lifecycle;
  readonly session?: Session;
  readonly minutes?: number;
}

const about = (told: readonly Told[], { state = 'deploying', session, minutes = 10 }: Subject = {}) =>
  diagnose({
    hostname: 'node01',
    lifecycle: typeof state === 'string' ? lifeIn(state, T0) : state,
    session: session ?? null,
    events: eventsOf(told),
    now: T0 + minutes * MINUTE,
  });

const BEGUN: Told = [0, 'lifecycle.deploying'];
const ASKS: Told = [5, 'dhcp.discover', { program: 'firmware-pxe' }];
const OFFERED: Told = [5, 'dhcp.offer', { address: '10.0.100.50' }];
const TAKES: Told = [6, 'dhcp.request', { program: 'firmware-pxe' }];
const HAS: Told = [6, 'dhcp.ack', { address: '10.0.100.50' }];
const LOADER: Told = [7, 'tftp.completed', { file: 'snponly.efi' }];
const IPXE: Told = [10, 'dhcp.discover', { program: 'ipxe' }];
const SCRIPT: Told = [20, 'http.script', { outcome: 'installer', words: 'it is armed' }];
const KERNEL: Told = [30, 'http.served', { asset: 'images/service-os-x86_64/initrd', complete: true }];
const UNTIL_KERNEL: readonly Told[] = [BEGUN, ASKS, OFFERED, TAKES, HAS, LOADER, IPXE, SCRIPT, KERNEL];
const opened = sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + 70 * SECOND });
const failing = (step: string, message: string): Told => [90, 'session.step', { step, status: 'failed', message }];

const CASES: readonly (readonly [id: string, told: readonly Told[], subject?: Subject])[] = [
  ['no-discover', [BEGUN]],
  ['start-by-hand', [BEGUN, [1, 'bmc.absent', { to_do: 'power cycle the machine by hand' }]]],
  ['power-failed', [BEGUN, [9, 'effect.failed', { reason: 'the BMC does not answer' }]]],
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
    [...UNTIL_KERNEL, failing('write-image', 'sha256 is ab instead of cd')],
    { state: failedAt('deploy'), session: opened },
  ],
  [
    'image-hash-wrong',
    [...UNTIL_KERNEL, failing('verify-image', 'the disk reads back other bytes')],
    { state: failedAt('deploy') },
  ],
  ['step-failed', [...UNTIL_KERNEL, failing('grow', 'no partition')], { state: failedAt('deploy'), session: opened }],
  ['restarted', UNTIL_KERNEL, { state: failedAt('deploy', 'restarted before it was installed: nothing was heard') }],
  ['no-first-boot', [...UNTIL_KERNEL, [200, 'lifecycle.enrolling']], { state: 'enrolling' }],
  [
    'boots-network-again',
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling'], [260, 'http.script', { outcome: 'local-disk' }]],
    { state: 'enrolling' },
  ],
  [
    'enrolled-never',
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling'], [260, 'dhcp.discover', { program: 'os' }]],
    { state: failedAt('enroll') },
  ],
  ['quarantined', [], { state: 'quarantined' }],
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

  it('is nothing for a machine of which nothing is wanted', () => {
    for (const state of ['registered', 'ready', 'active', 'retired'] as const)
      expect(about([BEGUN, ASKS], { state })).toBeNull();
  });

  it('looks at the last time that it was put to work, not at what went wrong before', () => {
    const before = [...UNTIL_KERNEL, failing('choose-disk', 'no disk')];
    expect(about([...before, [300, 'lifecycle.deploying']], { minutes: 20 })?.id).toBe('no-discover');
  });
});
