import { describe, expect, it } from 'vitest';
import { Unread } from '../../../appliance/bmc/ipmi/unread.ts';

describe('the unread buffer', () => {
  it('returns the bytes in order, and copies them', () => {
    const unread = new Unread(10);
    const bytes = Uint8Array.of(1, 2);
    unread.push(bytes);
    unread.push(Uint8Array.of(3));
    bytes.fill(9);
    expect([unread.shift(), unread.shift(), unread.shift()]).toEqual([Uint8Array.of(1, 2), Uint8Array.of(3), null]);
  });

  it('never exceeds its limit, and has room again after a read', () => {
    const unread = new Unread(4);
    expect([unread.push(new Uint8Array(3)), unread.push(new Uint8Array(2)), unread.push(new Uint8Array(1))]).toEqual([
      true,
      false,
      true,
    ]);
    unread.shift();
    expect(unread.push(new Uint8Array(3))).toBe(true);
  });
});
