// Cases of the service OS.

import type { ApplianceProblem } from '../../../appliance/domain/appliance-problem.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import { failedAt, type Observed, sessionWith, T0 } from '../observed.ts';
import { type Case, failing, opened, UNTIL_IMAGES, UNTIL_KERNEL } from './boots.ts';

const own = { subject: 'x', since: T0, nextStep: 'Free space, then run: coldiron check' };
const DISK_FULL: ApplianceProblem = {
  ...own,
  id: 'disk-full',
  words: 'the disk of /var/lib/coldiron is full',
  freeBytes: 0,
};
const CLOCK: ApplianceProblem = { ...own, id: 'clock-wrong', words: 'the clock is years behind', seconds: -1e8 };

export const WORK_CASES: readonly Case[] = [
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
  ['system-not-started', UNTIL_IMAGES, { session: sessionWith({}) }],
  ['session-silent', UNTIL_IMAGES, { session: sessionWith({ openedAt: T0 + 200 * SECOND }) }],
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
  ['appliance-clock-wrong', UNTIL_KERNEL, { minutes: 1, session: sessionWith({}), facts: { appliance: [CLOCK] } }],
];
