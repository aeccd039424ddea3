import { describe, expect, it } from 'vitest';
import { UnansweredBytes } from '../../../appliance/servers/tftp/unanswered-bytes.ts';

const ADDRESS = 0x0a00_0001;

describe('what an address owes that never answers', () => {
  it('stops the replies to it at four kibibytes, and is forgiven by 256 bytes a second', () => {
    const bytes = new UnansweredBytes();
    for (let reply = 0; reply < 8; reply += 1) {
      expect(bytes.isOver(ADDRESS, 0)).toBe(false);
      bytes.charge(ADDRESS, 512, 0);
    }
    expect(bytes.isOver(ADDRESS, 0)).toBe(true);
    expect(bytes.isOver(ADDRESS + 1, 0)).toBe(false);
    expect(bytes.isOver(ADDRESS, 1000)).toBe(false);
    bytes.charge(ADDRESS, 512, 1000);
    expect(bytes.isOver(ADDRESS, 1999)).toBe(true);
  });

  it('is nothing once it answers, and nothing for replies that are not longer than their requests', () => {
    const bytes = new UnansweredBytes();
    bytes.charge(ADDRESS, 5000, 0);
    bytes.answered(ADDRESS);
    bytes.charge(ADDRESS, -400, 0);
    expect(bytes.isOver(ADDRESS, 0)).toBe(false);
  });

  it('is kept for a limited number of addresses', () => {
    const bytes = new UnansweredBytes();
    bytes.charge(ADDRESS, 5000, 0);
    for (let other = 1; other <= 8192; other += 1) bytes.charge(ADDRESS + other, 1, 0);
    expect(bytes.isOver(ADDRESS, 0)).toBe(true);
    for (let other = 1; other <= 2 * 8192; other += 1) bytes.charge(ADDRESS + 10_000 + other, 1, 0);
    expect(bytes.isOver(ADDRESS, 0)).toBe(false);
  });
});
