import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOOT_WAIT, usualWait, waitShare } from '../../appliance/bmc/boot-wait.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';

const times = fc.array(fc.integer({ min: 0, max: 60 * MINUTE }), { minLength: 1, maxLength: 20 });

describe('the boot wait', () => {
  it('is the default for an unknown machine', () => {
    expect(usualWait([])).toBe(BOOT_WAIT.unknown);
  });

  it('stays within its limits for any history', () => {
    fc.assert(
      fc.property(times, (earlier) => {
        const wait = usualWait(earlier);
        return wait >= BOOT_WAIT.least && wait <= BOOT_WAIT.most;
      }),
    );
  });

  it('ignores one outlier among usual boots', () => {
    const usual = [3 * MINUTE, 3 * MINUTE, 3 * MINUTE, 3 * MINUTE];
    expect(usualWait([...usual, 55 * MINUTE])).toBe(usualWait(usual));
    expect(usualWait([...usual, 0])).toBe(usualWait(usual));
  });

  it('does not depend on the order of the history', () => {
    fc.assert(fc.property(times, (earlier) => usualWait(earlier) === usualWait(earlier.toReversed())));
  });
});

describe('the share of one attempt', () => {
  const NOW = 1_000_000;
  const share = (wait: number, time: number, triesLeft: number, first = false): number | null =>
    waitShare(wait, { deadline: NOW + time, now: NOW, triesLeft, first });

  it('is the full wait without a near deadline', () => {
    expect(waitShare(8 * MINUTE, { deadline: null, now: NOW, triesLeft: 5, first: true })).toBe(8 * MINUTE);
    expect(share(8 * MINUTE, 60 * MINUTE, 3)).toBe(8 * MINUTE);
  });

  it('leaves time for three attempts with an unknown machine, and for the work after them', () => {
    expect(share(8 * MINUTE, 20 * MINUTE, 3, true)).toBe(5 * MINUTE);
    expect(share(8 * MINUTE, 15 * MINUTE, 2)).toBe(5 * MINUTE);
    expect(share(8 * MINUTE, 10 * MINUTE, 1)).toBe(5 * MINUTE);
  });

  it('is never shorter than the usual boot, even if later attempts are skipped', () => {
    const wait = usualWait([6 * MINUTE]);
    expect(share(wait, 20 * MINUTE, 3, true)).toBe(7.5 * MINUTE);
    expect(share(wait, 5 * MINUTE, 1)).toBeNull();
  });

  it('never ends after the deadline, and always allows the first attempt', () => {
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
