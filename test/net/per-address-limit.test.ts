import { describe, expect, it } from 'vitest';
import { PerAddressLimit } from '../../appliance/net/per-address-limit.ts';

function limitOf(most: number) {
  const reports: string[] = [];
  const limit = new PerAddressLimit((address, refused) => void reports.push(`${address} ${refused}`));
  const enter = (address: string, now: number): boolean => limit.enter(address, most, now);
  return { reports, limit, enter };
}

describe('a per-address limit', () => {
  it('counts each address separately, and admits again after a leave', () => {
    const { limit, enter } = limitOf(2);
    expect([enter('a', 0), enter('a', 0), enter('a', 0), enter('b', 0)]).toEqual([true, true, false, true]);
    limit.leave('a', 0);
    expect([enter('a', 0), enter('a', 0)]).toEqual([true, false]);
  });

  it('reports a rejection at once, then the count every ten seconds, and the rest when the address is idle', () => {
    const { limit, enter, reports } = limitOf(1);
    enter('a', 0);
    for (let second = 0; second < 25; second += 1) enter('a', second * 1000);
    expect(reports).toEqual(['a 1', 'a 10', 'a 10']);
    limit.leave('a', 25_000);
    expect(reports.slice(3)).toEqual(['a 4']);
    limit.leave('a', 25_000);
    expect(enter('a', 26_000)).toBe(true);
  });
});
