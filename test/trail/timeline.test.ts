import { describe, expect, it } from 'vitest';
import { knownEvent } from '../../appliance/domain/events/known-event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { diagnose } from '../../appliance/trail/diagnose.ts';
import { allowedTime, expectedTimes, STAGES } from '../../appliance/trail/diagnosis/stages.ts';
import { timelineOf } from '../../appliance/trail/diagnosis/timeline.ts';
import { eventsOf, inputOf, type Observed, T0 } from './observed.ts';

const timeline = (...observed: readonly Observed[]) =>
  timelineOf(eventsOf(observed).flatMap((event) => knownEvent(event) ?? []));
const stages = (...observed: readonly Observed[]) =>
  timeline(...observed).visits.map(({ stage, began, ended }) => [
    stage,
    (began - T0) / SECOND,
    ended === null ? null : (ended - T0) / SECOND,
  ]);

const DISCOVER = (after: number): Observed => [after, 'dhcp.discover', { program: 'firmware-pxe' }];
const BOOT: readonly Observed[] = [
  [0, 'lifecycle.deploying'],
  DISCOVER(6),
  [7, 'dhcp.ack'],
  [8, 'tftp.completed', { file: 'snponly.efi' }],
  [10, 'dhcp.discover', { program: 'ipxe' }],
  [10, 'dhcp.ack'],
  [12, 'http.script', { outcome: 'installer' }],
  [13, 'http.served', { asset: 'images/service-os-x86_64/kernel', complete: true }],
  [15, 'http.served', { asset: 'images/service-os-x86_64/initrd', complete: true }],
  [30, 'session.opened'],
  [31, 'session.step', { step: 'inspect', status: 'started' }],
  [40, 'session.step', { step: 'inspect', status: 'done' }],
  [41, 'session.step', { step: 'write-image', status: 'progress', percent: 5 }],
  [60, 'session.step', { step: 'write-image', status: 'done' }],
  [62, 'lifecycle.enrolling', { event: 'installed' }],
  [130, 'lifecycle.active', { event: 'enrolled' }],
];

describe('a timeline', () => {
  it('has every stage of a deployment with its time, and the steps of the service OS', () => {
    expect(stages(...BOOT)).toEqual([
      ['power', 0, 6],
      ['address', 6, 7],
      ['loader', 7, 10],
      ['script', 10, 12],
      ['images', 12, 15],
      ['start', 15, 30],
      ['work', 30, 62],
      ['first-boot', 62, 130],
    ]);
    const { steps, ended, endedIn, attempts } = timeline(...BOOT);
    expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
      ['inspect', true],
      ['write-image', true],
    ]);
    expect({ ended, endedIn, attempts }).toEqual({ ended: T0 + 130 * SECOND, endedIn: 'active', attempts: 1 });
  });

  it('does not start the clock of a stage again when packets are repeated', () => {
    const repeated = [DISCOVER(6), DISCOVER(20), DISCOVER(40), DISCOVER(90)];
    expect(stages([0, 'lifecycle.deploying'], ...repeated).at(-1)).toEqual(['address', 6, null]);
  });

  it('does not start it again when the machine boots again and stops in the same stage', () => {
    const once = BOOT.slice(0, 5);
    const again = BOOT.slice(1, 5).map(([after, kind, data]): Observed => [after + 60, kind, data ?? {}]);
    expect(stages(...once, ...again).at(-1)).toEqual(['script', 10, null]);
    expect(timeline(...once, ...again).attempts).toBe(2);
  });

  it('of an installed system ignores a boot from the network', () => {
    expect(stages(...BOOT.slice(0, -1), DISCOVER(70), [71, 'http.script', { outcome: 'local-disk' }]).at(-1)).toEqual([
      'first-boot',
      62,
      null,
    ]);
  });

  it('begins with the newest work', () => {
    expect(stages(...BOOT, [500, 'lifecycle.releasing'])).toEqual([['power', 500, null]]);
    expect(timeline([0, 'node.created'])).toMatchObject({ began: null, visits: [] });
  });
});

describe('expected times', () => {
  it('are the median and the 90th percentile of completed runs', () => {
    const runs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map((seconds) => ({ address: seconds * SECOND }));
    expect(expectedTimes(runs)).toEqual({ address: { median: 5 * SECOND, p90: 9 * SECOND, samples: 10 } });
    expect(expectedTimes([])).toEqual({});
  });

  it('limit a stage once there are three runs, and never below a floor', () => {
    const times = (seconds: number, samples: number) => ({
      power: { median: seconds * SECOND, p90: seconds * SECOND, samples },
    });
    expect(allowedTime('power', {})).toBe(STAGES.power.allowed);
    expect(allowedTime('power', times(100, 2))).toBe(STAGES.power.allowed);
    expect(allowedTime('power', times(100, 3))).toBe(150 * SECOND);
    expect(allowedTime('power', times(5, 3))).toBe(STAGES.power.atLeast);
    expect(allowedTime('power', times(600, 30))).toBe(15 * MINUTE);
  });

  it('make a stage overdue that would be in time by default, and the reverse', () => {
    const begun: readonly Observed[] = [[0, 'lifecycle.deploying']];
    const at = (minutes: number, p90: number) => {
      const expected = { power: { median: p90 / 2, p90, samples: 8 } };
      return diagnose(inputOf(eventsOf(begun), { minutes, facts: { expected } }));
    };
    expect(at(2, 6 * SECOND).causes[0]?.id).toBe('no-discover');
    expect(at(2, 6 * SECOND).symptom).toBe(
      'node01 waits for its first DHCP request, since 2 min: similar machines take 3 s, nine of ten at most 6 s',
    );
    expect(at(10, 9 * MINUTE).causes).toEqual([]);
    expect(at(10, 9 * MINUTE).symptom).toContain('which is in time');
  });
});
