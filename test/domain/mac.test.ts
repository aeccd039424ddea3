import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { macFromBytes, macWithHyphens, parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

describe('a MAC address', () => {
  it.each([
    '52:54:00:12:34:56',
    '52-54-00-12-34-56',
    '5254.0012.3456',
    '525400123456',
    ' 52:54:00:12:34:56\n',
    '52:54:00:12:34:56'.toUpperCase(),
  ])('is read from %j', (text) => {
    expect(parseMac(text)).toEqual({ ok: true, value: '52:54:00:12:34:56' });
  });

  it.each([
    ['52:54:00:zz', 'not a MAC address: 52:54:00:zz'],
    ['52:54:00-12-34-56', 'not a MAC address: 52:54:00-12-34-56'],
    ['', 'not a MAC address: '],
    ['00:00:00:00:00:00', 'the all-zero MAC address belongs to no machine'],
    ['01:00:5e:00:00:01', 'a multicast MAC address belongs to no single machine: 01:00:5e:00:00:01'],
    ['ff:ff:ff:ff:ff:ff', 'a multicast MAC address belongs to no single machine: ff:ff:ff:ff:ff:ff'],
    ['a\u0007b', 'not a MAC address: a\\u0007b'],
  ])('is not read from %j', (text, reason) => {
    expect(parseMac(text)).toEqual({ ok: false, reason });
  });

  it('has one value in every notation, and parses its own text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 6, maxLength: 6 }), (bytes) => {
        const fromBytes = macFromBytes(bytes);
        if (!fromBytes.ok) return;
        const mac = fromBytes.value;
        expect(mustParse(parseMac(mac))).toBe(mac);
        expect(mustParse(parseMac(macWithHyphens(mac)))).toBe(mac);
        expect(mustParse(parseMac(mac.replaceAll(':', '')))).toBe(mac);
      }),
    );
  });

  it('never throws for any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof parseMac(text).ok === 'boolean'));
  });
});
