import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  broadcastAddress,
  contains,
  inRange,
  ipv4FromBytes,
  ipv4FromNumber,
  ipv4ToNumber,
  isHostAddress,
  netmask,
  overlaps,
  parseIpv4,
  parsePrefix,
  prefixText,
  rangeSize,
} from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

const ip = (text: string) => mustParse(parseIpv4(text));
const prefix = (text: string) => mustParse(parsePrefix(text));

describe('an IPv4 address', () => {
  it.each(['0.0.0.0', '10.0.100.50', '255.255.255.255'])('is read from %s', (text) => {
    expect(parseIpv4(text)).toEqual({ ok: true, value: text });
  });

  it.each([
    '10.0.100',
    '10.0.100.256',
    '10.0.100.050',
    '10.0.0.01',
    '00.0.0.1',
    '10.0.100.50 ',
    '0x0a.0.0.1',
    '1.2.3.4.5',
    '',
    '10.0.0.-1',
  ])('is not read from %j', (text) => {
    expect(parseIpv4(text).ok).toBe(false);
  });

  it('converts to numbers and bytes and back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (number) => {
        const address = ipv4FromNumber(number);
        expect(ipv4ToNumber(address)).toBe(number);
        expect(mustParse(parseIpv4(address))).toBe(address);
        const bytes = Uint8Array.from(address.split('.').map(Number));
        expect(mustParse(ipv4FromBytes(bytes))).toBe(address);
      }),
    );
  });
});

describe('a prefix', () => {
  it('computes its mask, its broadcast address and its members', () => {
    const net = prefix('10.0.100.0/24');
    expect(netmask(net)).toBe('255.255.255.0');
    expect(broadcastAddress(net)).toBe('10.0.100.255');
    expect(contains(net, ip('10.0.100.50'))).toBe(true);
    expect(contains(net, ip('10.0.101.50'))).toBe(false);
    expect(isHostAddress(net, ip('10.0.100.0'))).toBe(false);
    expect(isHostAddress(net, ip('10.0.100.255'))).toBe(false);
    expect(isHostAddress(net, ip('10.0.100.1'))).toBe(true);
    expect(prefixText(net)).toBe('10.0.100.0/24');
  });

  it('of length 31 has two hosts and no broadcast address', () => {
    const link = prefix('10.0.0.0/31');
    expect(isHostAddress(link, ip('10.0.0.0'))).toBe(true);
    expect(isHostAddress(link, ip('10.0.0.1'))).toBe(true);
  });

  it.each([
    ['10.0.100.50/24', 'has host bits set: 10.0.100.50/24; write 10.0.100.0/24'],
    ['10.0.100.0/33', 'a prefix length is at most 32: 10.0.100.0/33'],
    ['10.0.100.0', 'not an IPv4 prefix (like 10.0.100.0/24): 10.0.100.0'],
    ['10.0.100.0/24/1', 'not an IPv4 prefix (like 10.0.100.0/24): 10.0.100.0/24/1'],
    ['10.0.100.0/+8', 'not an IPv4 prefix (like 10.0.100.0/24): 10.0.100.0/+8'],
  ])('is not read from %s', (text, reason) => {
    expect(parsePrefix(text)).toEqual({ ok: false, reason });
  });

  it('overlaps another exactly when one contains the other', () => {
    expect(overlaps(prefix('10.0.0.0/8'), prefix('10.0.100.0/24'))).toBe(true);
    expect(overlaps(prefix('10.0.100.0/24'), prefix('10.0.0.0/8'))).toBe(true);
    expect(overlaps(prefix('10.0.100.0/24'), prefix('10.0.101.0/24'))).toBe(false);
    expect(overlaps(prefix('0.0.0.0/0'), prefix('192.168.0.0/16'))).toBe(true);
  });

  it('contains exactly the addresses from its first to its last', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), fc.integer({ min: 0, max: 32 }), (number, length) => {
        const mask = length === 0 ? 0 : (0xffffffff << (32 - length)) >>> 0;
        const net = prefix(`${ipv4FromNumber((number & mask) >>> 0)}/${length}`);
        const first = ipv4ToNumber(net.network);
        const last = ipv4ToNumber(broadcastAddress(net));
        expect(last - first + 1).toBe(2 ** (32 - length));
        expect(contains(net, ipv4FromNumber(number))).toBe(true);
        if (first > 0) expect(contains(net, ipv4FromNumber(first - 1))).toBe(false);
        if (last < 0xffffffff) expect(contains(net, ipv4FromNumber(last + 1))).toBe(false);
      }),
    );
  });
});

describe('a range', () => {
  it('includes both its ends', () => {
    const range = { from: ip('10.0.100.100'), to: ip('10.0.100.200') };
    expect(rangeSize(range)).toBe(101);
    expect(inRange(range, ip('10.0.100.100'))).toBe(true);
    expect(inRange(range, ip('10.0.100.200'))).toBe(true);
    expect(inRange(range, ip('10.0.100.99'))).toBe(false);
    expect(inRange(range, ip('10.0.100.201'))).toBe(false);
  });
});
