import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pooledRandom } from '../../../appliance/bmc/ipmi/pooled-random.ts';

describe('random bytes from a pool', () => {
  it('have the requested length, across the end of the pool and beyond its size', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 50 }), (counts) => {
        const random = pooledRandom();
        return counts.every((count) => random(count).length === count);
      }),
    );
  });

  it('are never returned twice, and never left in the pool', () => {
    const random = pooledRandom();
    const seen = new Set<string>();
    for (let count = 0; count < 20_000; count++) seen.add(Buffer.from(random(16)).toString('hex'));
    expect(seen.size).toBe(20_000);
    expect(seen).not.toContain('0'.repeat(32));
  });

  it('are copies: a write does not change other results', () => {
    const random = pooledRandom();
    random(16).fill(0xaa);
    expect(Buffer.from(random(16)).toString('hex')).not.toBe('aa'.repeat(16));
  });
});
