import { describe, expect, it } from 'vitest';
import { Unread } from '../../../appliance/bmc/ipmi/unread.ts';

describe('the unread buffer', () => {
  it('returns the bytes in order, and copies them', () => {
    const unread = new Unread(10);
    const bytes = Uint8Array.of(1, 2);
    unread.push(bytes);
    unread.push(Uint8Array.of(3));
    bytes.fill(9);
    expect([unread.shift(), unread.shift()]).toEqual([Uint8Array.of(1, 2, 3), null]);
    unread.push(Uint8Array.of(4));
    expect([unread.shift(), unread.shift()]).toEqual([Uint8Array.of(4), null]);
  });

  it('returns more than one block in order', () => {
    const unread = new Unread(20_000);
    const bytes = Uint8Array.from({ length: 10_000 }, (_, at) => at % 251);
    for (let at = 0; at < bytes.length; at += 7) unread.push(bytes.subarray(at, at + 7));
    const read: Uint8Array[] = [];
    for (let next = unread.shift(); next; next = unread.shift()) read.push(next);
    expect(read.length).toBeGreaterThan(1);
    expect(Buffer.concat(read)).toEqual(Buffer.from(bytes));
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
