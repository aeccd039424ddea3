import { describe, expect, it } from 'vitest';
import { backOff, MAX_ATTEMPTS } from '../../appliance/machines/back-off.ts';

describe('the back-off', () => {
  it('starts with 2 s, doubles, up to 5 min', () => {
    const waits = Array.from({ length: 10 }, (_, index) => backOff(index + 1) / 1000);
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  it('stays at 5 min, however often it fails', () => {
    expect(backOff(100_000)).toBe(300_000);
  });

  it('fails an effect before the shortest deadline of a state that depends on one', () => {
    const waits = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => backOff(index + 1));
    expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThan(20 * 60_000);
  });
});
