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

<<<<<<< HEAD
const CASES = [...START_CASES, ...LOADER_CASES, ...WORK_CASES, ...SYSTEM_CASES, ...NODE_CASES];
=======
const BEGUN: Observed = [0, 'lifecycle.deploying'];
const FIRMWARE = { mac: '52:54:00:12:34:56', program: 'firmware-pxe', network: 'boot' };
const DISCOVER: Observed = [5, 'dhcp.discover', FIRMWARE];
const OFFER: Observed = [5, 'dhcp.offer', { address: '10.0.100.50' }];
const REQUEST: Observed = [6, 'dhcp.request', { program: 'firmware-pxe' }];
const ACK: Observed = [6, 'dhcp.ack', { address: '10.0.100.50' }];
const LOADER: Observed = [7, 'tftp.completed', { file: 'snponly.efi' }];
const IPXE: Observed = [10, 'dhcp.discover', { program: 'ipxe' }];
const SCRIPT: Observed = [20, 'http.script', { outcome: 'installer', words: 'it is armed' }];
const KERNEL: Observed = [30, 'http.served', { asset: 'images/service-os-x86_64/initrd', complete: true }];
const UNTIL_KERNEL: readonly Observed[] = [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, IPXE, SCRIPT, KERNEL];
/** Under Secure Boot: shim, GRUB, its configuration, and the images over TFTP. */
const SHIM: Observed = [7, 'tftp.completed', { file: 'shimx64.efi' }];
const GRUB: Observed = [8, 'tftp.completed', { file: 'grubx64.efi' }];
const LISTS: Observed = [10, 'tftp.not-found', { file: 'grub/x86_64-efi/command.lst', why: 'no such file' }];
const COMMON: Observed = [11, 'tftp.completed', { file: 'grub/grub.cfg' }];
const OWN = 'grub/machine/52:54:00:12:34:56_7a11ab1e-0000-4080-8000-525400123456.cfg';
const CONFIG: readonly Observed[] = [
  [12, 'tftp.completed', { file: OWN }],
  [12, 'boot.decided', { file: OWN, outcome: 'service-os', because: 'commissioning', words: 'it is commissioned' }],
];
const KERNEL_FILE = 'boot/service-os-x86_64/kernel';
const INITRD_FILE = 'boot/service-os-x86_64/initrd';
const UNTIL_GRUB: readonly Observed[] = [
  ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK, SHIM],
  [7, 'tftp.not-found', { file: 'revocations_sbat.efi', why: 'no such file' }],
  GRUB,
];
const UNTIL_CONFIG: readonly Observed[] = [...UNTIL_GRUB, LISTS, COMMON, ...CONFIG];
/** 150 seconds for the initrd: a slow link, and GRUB requests one block at a time. */
const UNTIL_IMAGES: readonly Observed[] = [
  ...UNTIL_CONFIG,
  [13, 'tftp.begun', { file: KERNEL_FILE }],
  [20, 'tftp.completed', { file: KERNEL_FILE }],
  [21, 'tftp.begun', { file: INITRD_FILE }],
  [171, 'tftp.completed', { file: INITRD_FILE }],
];
const opened = sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + 70 * SECOND });
const failing = (step: string, message: string): Observed => [90, 'session.step', { step, status: 'failed', message }];

const LOOP: Observed = [30, 'dhcp.loop', { file: 'snponly.efi', times: 5 }];
const ELSEWHERE: Observed = [5, 'dhcp.discover', { ...FIRMWARE, network: 'storage' }];

const OFFER_WITHOUT_FILE: Observed = [5, 'dhcp.offer', { address: '10.0.100.50', file: 'absent' }];
const own = { subject: 'x', since: T0, nextStep: 'Free space, then run: coldiron check' };
const DISK_FULL: ApplianceProblem = {
  ...own,
  id: 'disk-full',
  words: 'the disk of /var/lib/coldiron is full',
  freeBytes: 0,
};
const DAMAGED: ApplianceProblem = {
  ...{ ...own, id: 'boot-file-damaged', subject: 'images/service-os-x86_64/initrd', words: 'the initrd is truncated' },
  ...{ what: 'service OS', architectures: ['x86_64'] },
};
const NO_DHCP: ApplianceProblem = {
  ...own,
  id: 'listener-missing',
  words: 'DHCP does not listen on eth1',
  service: 'dhcp',
  networks: ['boot'],
  reason: 'no such interface',
};
const CLOCK: ApplianceProblem = { ...own, id: 'clock-wrong', words: 'the clock is years behind', seconds: -1e8 };
const OTHER_SERVER: ApplianceProblem = {
  ...{ ...own, id: 'other-dhcp-server', words: '10.77.66.1 answers DHCP requests' },
  ...{ network: 'boot', address: '10.77.66.1' as Ipv4, mac: '52:54:00:aa:bb:cc' as Mac },
};
const STRANGER = {
  name: 'unknown-525400770099',
  state: 'discovered',
  shares: [],
  firstSeen: T0 + 30 * SECOND,
  network: 'boot',
};

const HEARD = { contactAt: T0, heardAt: T0 + MINUTE, clockOffset: 400, system: null };
const MOUNT_FAILED = readNodeSystem('unit data.mount exit-code\nline no such device\n', '');
const CLOUD_INIT_FAILED = readNodeSystem('', '{"status":"error","errors":["scripts-vendor failed"]}');

type Case = readonly [id: string, observed: readonly Observed[], subject?: Subject];

const CASES: readonly Case[] = [
  ['no-discover', [BEGUN]],
  ['start-by-hand', [BEGUN, [1, 'bmc.absent', { to_do: 'power cycle the machine by hand' }]]],
  ['power-failed', [BEGUN, [9, 'effect.failed', { effect: 'boot-from-network', reason: 'the BMC does not answer' }]]],
  [
    'power-not-switched',
    [BEGUN],
    {
      minutes: 1,
      facts: { bmc: { power: 'unknown', problem: null, switching: { to: 'on', since: T0 + 2 * SECOND }, log: [] } },
    },
  ],
  ['no-answer-by-policy', [BEGUN, DISCOVER, [5, 'dhcp.silent', { words: 'nobody has accepted this machine' }]]],
  [
    'pool-exhausted',
    [BEGUN, IPXE, [20, 'dhcp.silent', { because: 'pool-exhausted', network: 'boot', words: 'every address is taken' }]],
  ],
  [
    'pool-exhausted',
    [BEGUN, IPXE, [20, 'dhcp.silent', { because: 'pool-exhausted', network: 'boot', words: 'every address is taken' }]],
    { facts: { bmc: { power: 'off', problem: null, log: [] } } },
  ],
  ['no-request', [BEGUN, DISCOVER, OFFER]],
  ['no-request', [BEGUN, IPXE, [10, 'dhcp.offer', { address: '10.0.100.50' }]]],
  ['address-refused', [BEGUN, DISCOVER, OFFER, REQUEST, [7, 'dhcp.nak', { because: 'wrong network' }]]],
  ['loader-not-fetched', [BEGUN, DISCOVER, OFFER, REQUEST, ACK]],
  ['loader-rejected', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER]],
  // BIOS has no Secure Boot.
  ['loader-not-running', [BEGUN, [5, 'dhcp.discover', { ...FIRMWARE, architecture: 0 }], OFFER, REQUEST, ACK, LOADER]],
  ['script-not-fetched', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, IPXE]],
  ['kernel-not-fetched', UNTIL_KERNEL.slice(0, -1), { session: sessionWith({}) }],
  [
    'sent-elsewhere',
    [BEGUN, DISCOVER, ACK, LOADER, IPXE, [20, 'http.script', { outcome: 'local-disk', words: 'it was revoked' }]],
  ],
  ['boot-failed', [...UNTIL_KERNEL.slice(0, -1), [25, 'boot.failed', { stage: 'installer', errno: '4c116035' }]]],
  ['system-not-started', UNTIL_KERNEL, { session: sessionWith({}) }],
  [
    'session-refused',
    [...UNTIL_KERNEL, [60, 'session.refused', { reason: 'it comes from elsewhere' }]],
    { session: sessionWith({}) },
  ],
  ['session-silent', UNTIL_KERNEL, { session: opened }],
  [
    'connection-lost',
    [
      ...UNTIL_KERNEL,
      [80, 'console.matched', { signature: 'curl-connect', line: 'Failed to connect to 10.77.0.1 port 8444' }],
    ],
    { session: opened, minutes: 1.6 },
  ],
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
  ...(
    [
      ['certificate-expired', 'expired'],
      ['certificate-stale', 'authority-retired'],
      ['certificate-stale', 'unknown-certificate'],
      ['certificate-refused', 'revoked'],
      ['node-api-wrong-path', 'not_found'],
    ] as const
  ).map(
    ([id, code]): Case => [
      id,
      [[600, 'node-api.refused', { path: '/node/v1/heartbeat', code, words: 'in our words' }]],
      { state: 'active', health: 'online', facts: { node: { ...HEARD, heardAt: T0 } } },
    ],
  ),
  [
    'node-unreachable',
    [[900, 'health.silent', { last_heard: T0 }]],
    {
      ...{ state: 'active', health: 'silent', minutes: 20 },
      facts: { bmc: { power: 'on', problem: null, log: [] }, node: { ...HEARD, contactAt: T0 } },
    },
  ],
  [
    'enrollment-refused',
    [
      [900, 'health.silent', { last_heard: T0 }],
      [950, 'node-api.refused', { path: '/node/v1/recover', code: 'enrollment_refused', words: 'it was revoked' }],
    ],
    { state: 'active', health: 'silent', minutes: 20 },
  ],
  [
    'agent-settings-stale',
    [],
    {
      ...{ state: 'active', health: 'online' },
      facts: {
        node: {
          ...HEARD,
          agent: {
            settings: 'stale',
            updated: 'current',
            apiUrl: 'https://old',
            wantedUrl: 'https://new',
            problem: null,
          },
        },
      },
    },
  ],
  [
    'agent-update-failed',
    [[100, 'agent.error', { action: 'update', error_class: 'failed', message: 'the previous agent was restored' }]],
    { state: 'active', health: 'online' },
  ],
  ['bundle-not-used', [[0, 'lifecycle.enrolling', { event: 'enroll' }]], { state: 'enrolling' }],
  ['boot-loop', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, LOOP], { minutes: 0.6 }],
  ['boot-loop', [DISCOVER, LOOP], { state: 'ready' }],
  ['wrong-network', [BEGUN, ELSEWHERE], { minutes: 0.1 }],
  ['wrong-network', [ELSEWHERE], { state: 'registered' }],
  [
    'no-first-boot',
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling', { event: 'installed' }]],
    { state: 'enrolling', minutes: 15 },
  ],
  [
    'boots-network-again',
    [
      ...UNTIL_KERNEL,
      [200, 'lifecycle.enrolling', { event: 'installed' }],
      [260, 'http.script', { outcome: 'local-disk' }],
    ],
    { state: 'enrolling', minutes: 15 },
  ],
  [
    'enrolled-never',
    [...UNTIL_KERNEL, [200, 'lifecycle.enrolling', { event: 'installed' }], [260, 'dhcp.discover', { program: 'os' }]],
    { state: failedAt('enroll') },
  ],
  [
    'loader-not-fetched',
    [BEGUN, DISCOVER, OFFER, REQUEST, ACK, [7, 'tftp.error', { file: 'shimx64.efi', reason: 'x' }]],
  ],
  [
    'loader-not-fetched',
    [BEGUN, DISCOVER, ACK, SHIM, [8, 'tftp.not-found', { file: 'grubx64.efi', why: 'no such file' }]],
  ],
  ['loader-rejected', UNTIL_GRUB],
  ['script-not-fetched', [...UNTIL_GRUB, LISTS, COMMON]],
  ['script-not-fetched', [BEGUN, DISCOVER, ACK, LOADER, IPXE, [12, 'http.entry', { path: '/boot/ipxe/boot.ipxe' }]]],
  ['sent-elsewhere', [...UNTIL_GRUB, COMMON, [12, 'boot.decided', { outcome: 'local-disk', words: 'it was revoked' }]]],
  ['kernel-not-fetched', UNTIL_CONFIG, { session: sessionWith({}) }],
  ['system-not-started', UNTIL_IMAGES, { session: sessionWith({}) }],
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
    { state: 'enrolling', minutes: 15, session: sessionWith({ openedAt: T0 + 190 * SECOND, ended: null }) },
  ],
  ...(['client-bad-certificate', 'client-unknown-authority', 'silent'] as const).map(
    (reason, at): (typeof CASES)[number] => [
      ['node-clock-wrong', 'authority-unknown', 'node-handshake-failed'][at] ?? '',
      [
        ...UNTIL_KERNEL,
        [200, 'lifecycle.enrolling', { event: 'installed' }],
        [240, 'node-api.handshake-failed', { reason }],
      ],
      { state: 'enrolling', minutes: 5 },
    ],
  ),
  [
    'node-clock-wrong',
    [
      [900, 'health.silent', { last_heard: T0 }],
      [950, 'node-api.handshake-failed', { reason: 'client-certificate-expired' }],
    ],
    { state: 'active', health: 'silent', minutes: 20 },
  ],
  [
    'enrollment-refused',
    [
      ...UNTIL_KERNEL,
      [200, 'lifecycle.enrolling', { event: 'installed' }],
      [240, 'node-api.refused', { words: 'the token was used' }],
    ],
    { state: 'enrolling', minutes: 5 },
  ],
  [
    'first-boot-part-failed',
    [
      ...UNTIL_KERNEL,
      [200, 'lifecycle.enrolling', { event: 'installed' }],
      [240, 'node-api.first-boot-failed', { part: 'site-bootstrap/baseline-7', exit: 3, lines: ['no such package'] }],
    ],
    { state: 'enrolling', minutes: 5 },
  ],
  ['unit-failed', [], { state: 'active', health: 'online', facts: { node: { ...HEARD, system: MOUNT_FAILED } } }],
  [
    'cloud-init-errors',
    [],
    { state: 'active', health: 'online', facts: { node: { ...HEARD, system: CLOUD_INIT_FAILED } } },
  ],
  ['node-clock-off', [], { state: 'active', health: 'online', facts: { node: { ...HEARD, clockOffset: -95_400 } } }],
  ['quarantined', [], { state: 'quarantined' }],
  ['removed', [[90, 'http.script', { outcome: 'refusal' }]], { state: 'removed' }],
  ['deadline', [], { state: failedAt('drain', 'the workload cannot leave') }],
  [
    'overdue',
    UNTIL_KERNEL.slice(0, -1),
    {
      session: sessionWith({
        openedAt: T0 + 30 * SECOND,
        heardAt: T0 + 40 * SECOND,
        ended: { how: 'superseded', at: T0 + 41 * SECOND, reason: null },
      }),
    },
  ],
  ['address-in-use', [BEGUN, DISCOVER, OFFER, REQUEST, [7, 'dhcp.decline']]],
  ['no-boot-file', [BEGUN, DISCOVER, OFFER_WITHOUT_FILE], { minutes: 0.2 }],
  [
    'other-dhcp-server',
    [BEGUN, DISCOVER, OFFER, [6, 'dhcp.silent', { because: 'other-server-chosen' }]],
    { facts: { appliance: [OTHER_SERVER] } },
  ],
  ['other-dhcp-server', [BEGUN, DISCOVER, OFFER], { facts: { appliance: [OTHER_SERVER] } }],
  [
    'loader-not-fetched',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [
        40,
        'tftp.timeout',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'no reply to the OACK, sent 5 times' },
      ],
    ],
  ],
  [
    'loader-not-fetched',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [
        30,
        'tftp.stalled',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'no reply to the OACK, sent 3 times' },
      ],
    ],
  ],
  [
    'large-packets-lost',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [26, 'tftp.begun', { file: 'undionly.kpxe' }],
      [
        30,
        'tftp.stalled',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'the first block was never acknowledged' },
      ],
    ],
    { minutes: 1 },
  ],
  [
    'large-packets-lost',
    [
      BEGUN,
      DISCOVER,
      OFFER,
      REQUEST,
      ACK,
      [7, 'tftp.timeout', { file: 'snponly.efi', blocks: 0, blockSize: 1468 }],
      [30, 'http.served', { asset: 'loader/snponly.efi', bytes: 78_585, of: 173_792, complete: false }],
    ],
    { minutes: 1.5 },
  ],
  [
    'powered-off',
    UNTIL_KERNEL,
    {
      session: opened,
      facts: {
        bmc: {
          power: 'off',
          problem: null,
          log: [{ at: T0 + 80 * SECOND, severity: 'critical', message: 'Power supply AC lost' }],
        },
      },
    },
  ],
  [
    'bmc-unreachable',
    [BEGUN],
    { minutes: 0.5, facts: { bmc: { power: 'unknown', problem: 'no answer from the BMC', log: [] } } },
  ],
  ['boot-override-ignored', [BEGUN, [30, 'bmc.boot-ignored', { words: 'the firmware ignored it' }]], { minutes: 2 }],
  [
    'disk-too-small',
    [...UNTIL_KERNEL, failing('write-image', "error writing '/dev/vda': No space left on device")],
    { state: failedAt('deploy'), session: opened },
  ],
  [
    'progress-stalled',
    [
      ...UNTIL_KERNEL,
      ...[90, 150, 210, 270, 330, 390].map(
        (after): Observed => [
          after,
          'session.step',
          { step: 'write-image', status: 'progress', percent: 33, message: null },
        ],
      ),
    ],
    {
      minutes: 7,
      session: sessionWith({
        openedAt: T0 + 60 * SECOND,
        heardAt: T0 + 390 * SECOND,
        last: { step: 'write-image', status: 'progress', percent: 33, message: null, at: T0 + 390 * SECOND },
      }),
    },
  ],
  [
    'system-without-appliance',
    [...UNTIL_KERNEL, [45, 'dhcp.discover', { program: 'os' }]],
    { session: sessionWith({}) },
  ],
  ['appliance-disk-full', UNTIL_KERNEL, { minutes: 1, session: opened, facts: { appliance: [DISK_FULL] } }],
  ['boot-file-damaged', UNTIL_KERNEL, { minutes: 1, session: sessionWith({}), facts: { appliance: [DAMAGED] } }],
  ['listener-missing', [BEGUN], { minutes: 1, facts: { appliance: [NO_DHCP] } }],
  ['appliance-clock-wrong', UNTIL_KERNEL, { minutes: 1, session: sessionWith({}), facts: { appliance: [CLOCK] } }],
  [
    'card-replaced',
    [BEGUN],
    { minutes: 1, facts: { neighbours: [{ ...STRANGER, shares: ['serial number CLD0002'] }] } },
  ],
  ['stranger-appeared', [BEGUN], { minutes: 9, facts: { neighbours: [STRANGER] } }],
  [
    'switch-port-shared',
    [BEGUN],
    {
      minutes: 9,
      facts: { portClaims: [{ name: 'node07', port: 'sw3 Ethernet1/5', own: 'declared', other: 'heard' }] },
    },
  ],
  [
    'boot-device-not-kept',
    [
      BEGUN,
      [3, 'bmc.boot-refused', { words: 'the BMC accepted network', read_back: { device: 'disk', differences: [] } }],
      [4, 'effect.failed', { effect: 'boot-from-network', reason: 'the machine does not boot from network' }],
    ],
    { minutes: 1 },
  ],
  [
    'siblings-stopped',
    [BEGUN],
    { minutes: 9, facts: { siblings: { stage: 'power', stalled: ['node02', 'node03'], passed: [] } } },
  ],
];
>>>>>>> recovery

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
