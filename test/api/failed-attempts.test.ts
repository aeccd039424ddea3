import { describe, expect, it } from 'vitest';
import { FailedAttempts } from '../../appliance/api/failed-attempts.ts';

describe('failed attempts', () => {
  const bucket = () => {
    const clock = { time: 0, now: () => clock.time };
    return { clock, attempts: new FailedAttempts(clock) };
  };

  it('allows a burst of ten, then says how long to wait', () => {
    const { attempts } = bucket();
    for (let n = 0; n < 10; n += 1) {
      expect(attempts.secondsToWait('10.0.0.1')).toBe(0);
      attempts.count('10.0.0.1');
    }
    expect(attempts.secondsToWait('10.0.0.1')).toBe(5);
  });

  it('allows one more after the time it named, and not before', () => {
    const { attempts, clock } = bucket();
    for (let n = 0; n < 10; n += 1) attempts.count('10.0.0.1');
    clock.time = 4_999;
    expect(attempts.secondsToWait('10.0.0.1')).toBe(1);
    clock.time = 5_000;
    expect(attempts.secondsToWait('10.0.0.1')).toBe(0);
    attempts.count('10.0.0.1');
    expect(attempts.secondsToWait('10.0.0.1')).toBe(5);
  });

  it('keeps sources apart', () => {
    const { attempts } = bucket();
    for (let n = 0; n < 20; n += 1) attempts.count('10.0.0.1');
    expect(attempts.secondsToWait('10.0.0.2')).toBe(0);
  });

  it('is not refilled or emptied by a clock that is set back', () => {
    const { attempts, clock } = bucket();
    clock.time = 60_000;
    for (let n = 0; n < 10; n += 1) attempts.count('10.0.0.1');
    clock.time = 0;
    expect(attempts.secondsToWait('10.0.0.1')).toBe(5);
  });

  it('stores a bounded number of sources and drops the least recent first', () => {
    const { attempts } = bucket();
    for (let n = 0; n < 10; n += 1) attempts.count('busy');
    for (let n = 0; n < 10_000; n += 1) {
      attempts.count(`10.${n >> 8}.${n & 255}.1`);
      if (n % 1000 === 0) attempts.count('busy');
    }
    expect(attempts.sources).toBe(4096);
    expect(attempts.secondsToWait('busy')).toBe(5);
    expect(attempts.secondsToWait('10.0.0.1')).toBe(0);
  });
});
