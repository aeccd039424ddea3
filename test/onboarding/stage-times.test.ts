import { expect, it } from 'vitest';
import type { TrailEvent } from './rig.ts';
import { stageTimes } from './stage-times.ts';

const event = (second: number, kind: string, data: TrailEvent['data'] = {}): TrailEvent => ({
  seq: second,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
  kind,
  actor: 'appliance',
  correlation_id: null,
  data,
});

const DEPLOYMENT = [
  event(10, 'lifecycle.deploying'),
  event(15, 'dhcp.discover'),
  event(19, 'http.script'),
  event(20, 'http.served', { asset: 'images/service-os-x86_64/kernel' }),
  event(22, 'http.served', { asset: 'images/service-os-x86_64/initrd' }),
  event(30, 'dhcp.discover'),
  event(32, 'session.opened', { mode: 'install' }),
  event(40, 'session.step', { step: 'write-image', status: 'started' }),
  event(45, 'session.step', { step: 'write-image', status: 'progress' }),
  event(51, 'session.step', { step: 'write-image', status: 'done' }),
  event(54, 'session.step', { step: 'verify-image', status: 'done' }),
  event(59, 'lifecycle.enrolling'),
];

it('reads the time of each stage from the trail, and ignores events before the last deployment', () => {
  const earlier = [event(1, 'lifecycle.deploying'), event(2, 'dhcp.discover'), event(9, 'lifecycle.active')];
  const times = stageTimes([...earlier, ...DEPLOYMENT, event(99, 'lifecycle.active')]);
  expect(times.map(({ seconds }) => seconds)).toEqual([5, 4, 3, 10, 8, 11, 3, 5, 40]);
});

it('names the stage that has not ended', () => {
  expect(() => stageTimes(DEPLOYMENT)).toThrow('no end of this stage: first start');
});
