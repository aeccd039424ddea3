import { describe, expect, it } from 'vitest';
import { RateLimit } from '../../appliance/net/rate-limit.ts';

describe('a rate limit', () => {
  it('allows the configured number per second, and again in the next second', () => {
    const limit = new RateLimit(2);
    expect([1000, 1001, 1999, 1999].map((now) => limit.allows(now))).toEqual([true, true, false, false]);
    expect([2000, 2000, 2000].map((now) => limit.allows(now))).toEqual([true, true, false]);
  });
});
