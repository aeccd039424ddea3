import { describe, expect, it } from 'vitest';
import { type CaptureWish, captureWish, grantedWishes } from '../../../appliance/bmc/console/capture-policy.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { LIFECYCLE_STATES, type Lifecycle, lifeIn } from '../../../appliance/domain/lifecycle.ts';
import type { MachineId } from '../../../appliance/domain/machine.ts';
import { aMachine } from '../../machines/machines.ts';

const machine = (lifecycle: Lifecycle) => ({ ...aMachine({}), lifecycle });
const inState = (state: Lifecycle['state'], since = 0) => machine(lifeIn(state, since));

describe('a console', () => {
  it.each(LIFECYCLE_STATES)('of a machine that is %s is captured or not', (state) => {
    const wanted = ['commissioning', 'deploying', 'enrolling', 'releasing', 'rescue'].includes(state);
    expect(captureWish(inState(state), null, MINUTE) !== null).toBe(wanted);
  });

  it('is captured for some time after the work, and not longer', () => {
    const working = captureWish(inState('deploying'), null, 0);
    const after = captureWish(inState('active', 5 * MINUTE), working, 5 * MINUTE);
    expect(after).toMatchObject({ since: 0, until: 15 * MINUTE });
    // Later changes do not extend it.
    expect(captureWish(inState('active', 5 * MINUTE), after, 14 * MINUTE)).toEqual(after);
    expect(captureWish(inState('active', 5 * MINUTE), after, 15 * MINUTE)).toBeNull();
    expect(captureWish(inState('releasing', 16 * MINUTE), after, 16 * MINUTE)).toMatchObject({ until: null });
    expect(captureWish(inState('removed'), after, 6 * MINUTE)).toBeNull();
  });

  it('is captured for an hour after a failed enrollment, which may still succeed', () => {
    const failed = machine({ ...lifeIn('failed', 0), failure: { step: 'enroll', reason: 'deadline' } });
    expect(captureWish(failed, null, 59 * MINUTE)).toMatchObject({ until: 60 * MINUTE });
    expect(captureWish(failed, null, 60 * MINUTE)).toBeNull();
    const other = machine({ ...lifeIn('failed', 0), failure: { step: 'deploy', reason: 'deadline' } });
    expect(captureWish(other, null, 0)).toBeNull();
  });
});

describe('more consoles than can be captured', () => {
  const wish = (name: string, changes: Partial<CaptureWish>): CaptureWish => ({
    ...{ machine: name as MachineId, since: 0, until: null, byHand: false },
    ...changes,
  });

  it('are served in a fair order: work, rescues, what has ended; the earliest first', () => {
    const wishes = [
      wish('ended', { until: 100 }),
      wish('rescue', { byHand: true }),
      wish('late', { since: 9 }),
      wish('early', { since: 1 }),
    ];
    const granted = (most: number) => grantedWishes(wishes, most).map((one) => one.machine);
    expect(granted(2)).toEqual(['early', 'late']);
    expect(granted(3)).toEqual(['early', 'late', 'rescue']);
    expect(granted(9)).toEqual(['early', 'late', 'rescue', 'ended']);
  });
});
