// Cases of the installed system, and of states in which nothing boots.

import { readNodeSystem } from '../../../appliance/domain/events/node-system.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { failedAt, sessionWith, T0 } from '../observed.ts';
import { type Case, UNTIL_IMAGES, UNTIL_KERNEL } from './boots.ts';

export const HEARD = { contactAt: T0, heardAt: T0 + MINUTE, clockOffset: 400, system: null };
export const MOUNT_FAILED = readNodeSystem('unit data.mount exit-code\nline no such device\n', '');
const CLOUD_INIT_FAILED = readNodeSystem('', '{"status":"error","errors":["scripts-vendor failed"]}');

export const SYSTEM_CASES: readonly Case[] = [
  ['node-silent', [[900, 'health.silent', { last_heard: T0 }]], { state: 'active', health: 'silent', minutes: 20 }],
  ['bundle-not-used', [[0, 'lifecycle.enrolling', { event: 'enroll' }]], { state: 'enrolling' }],
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
    'boots-network-again',
    [
      ...[...UNTIL_IMAGES, [200, 'lifecycle.enrolling', { event: 'installed' }] as const],
      [255, 'dhcp.discover', { program: 'firmware-pxe' }],
      [260, 'boot.decided', { outcome: 'local-disk' }],
    ],
    { state: 'enrolling', minutes: 15, session: sessionWith({ openedAt: T0 + 190 * SECOND, ended: null }) },
  ],
  ...(['client-bad-certificate', 'client-unknown-authority', 'silent'] as const).map(
    (reason, at): Case => [
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
];
