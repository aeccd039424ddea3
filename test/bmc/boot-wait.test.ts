import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PATIENCE, shareOf, waitFor } from '../../appliance/bmc/patience.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';

const times = fc.array(fc.integer({ min: 0, max: 60 * MINUTE }), { minLength: 1, maxLength: 20 });

describe('patience', () => {
  it('is that for a stranger while nothing is known', () => {
    expect(waitFor([])).toBe(PATIENCE.unknown);
  });

  it('stays within its bounds, whatever was seen', () => {
    fc.assert(
      fc.property(times, (earlier) => {
        const wait = waitFor(earlier);
        return wait >= PATIENCE.least && wait <= PATIENCE.most;
      }),
    );
  });

  it('is not moved by one odd start among usual ones', () => {
    const usual = [3 * MINUTE, 3 * MINUTE, 3 * MINUTE, 3 * MINUTE];
    expect(waitFor([...usual, 55 * MINUTE])).toBe(waitFor(usual));
    expect(waitFor([...usual, 0])).toBe(waitFor(usual));
  });

  it('does not depend on the order', () => {
    fc.assert(fc.property(times, (earlier) => waitFor(earlier) === waitFor(earlier.toReversed())));
  });
});

describe('the share of one try', () => {
  const NOW = 1_000_000;
  const share = (wait: number, time: number, triesLeft: number, first = false): number | null =>
    shareOf(wait, { deadline: NOW + time, now: NOW, triesLeft, first });

  it('is all of its wait where nothing presses', () => {
    expect(shareOf(8 * MINUTE, { deadline: null, now: NOW, triesLeft: 5, first: true })).toBe(8 * MINUTE);
    expect(share(8 * MINUTE, 60 * MINUTE, 3)).toBe(8 * MINUTE);
  });

  it('leaves the time of a commissioning for three tries of a stranger, and for the work after them', () => {
    expect(share(8 * MINUTE, 20 * MINUTE, 3, true)).toBe(5 * MINUTE);
    expect(share(8 * MINUTE, 15 * MINUTE, 2)).toBe(5 * MINUTE);
    expect(share(8 * MINUTE, 10 * MINUTE, 1)).toBe(5 * MINUTE);
  });

  it('is never shorter than the machine usually takes: then later tries have to wait for another day', () => {
    const wait = waitFor([6 * MINUTE]);
    expect(share(wait, 20 * MINUTE, 3, true)).toBe(7.5 * MINUTE);
    expect(share(wait, 5 * MINUTE, 1)).toBeNull();
  });

  it('never ends after the deadline, and the first try is always made', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: SECOND, max: 15 * MINUTE }),
        fc.integer({ min: -MINUTE, max: 60 * MINUTE }),
        fc.integer({ min: 1, max: 5 }),
        (wait, time, triesLeft) => {
          const first = share(wait, time, triesLeft, true);
          expect(first).not.toBeNull();
          expect(first).toBeLessThanOrEqual(Math.max(0, time));
          expect(share(wait, time, triesLeft) ?? 0).toBeLessThanOrEqual(Math.max(0, time));
        },
      ),
    );
  });
});
