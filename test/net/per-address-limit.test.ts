import { describe, expect, it } from 'vitest';
import { PerAddressLimit } from '../../appliance/net/per-address-limit.ts';

function crowdOf(most: number) {
  const told: string[] = [];
  const crowd = new PerAddressLimit((address, refused) => void told.push(`${address} ${refused}`));
  const enter = (address: string, now: number): boolean => crowd.enter(address, most, now);
  return { told, crowd, enter };
}

describe('the crowd', () => {
  it('counts each address for itself, and lets in again as others leave', () => {
    const { crowd, enter } = crowdOf(2);
    expect([enter('a', 0), enter('a', 0), enter('a', 0), enter('b', 0)]).toEqual([true, true, false, true]);
    crowd.leave('a', 0);
    expect([enter('a', 0), enter('a', 0)]).toEqual([true, false]);
  });

  it('tells at once whom it turned away, then every ten seconds how often, and the rest when the address is quiet', () => {
    const { crowd, enter, told } = crowdOf(1);
    enter('a', 0);
    for (let second = 0; second < 25; second += 1) enter('a', second * 1000);
    expect(told).toEqual(['a 1', 'a 10', 'a 10']);
    crowd.leave('a', 25_000);
    expect(told.slice(3)).toEqual(['a 4']);
    crowd.leave('a', 25_000);
    expect(enter('a', 26_000)).toBe(true);
  });
});
