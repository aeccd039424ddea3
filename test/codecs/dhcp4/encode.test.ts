import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { DhcpEncodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { anyMessage, plainMessage, withOptions } from './dhcp-messages.ts';

const PLENTY = { maxBytes: 65_507 };
const value = (length: number): Uint8Array => new Uint8Array(length).fill(7);

/** The option codes in wire order, one per instance. */
function codesOnWire(bytes: Uint8Array): number[] {
  const codes: number[] = [];
  for (let at = 240; bytes[at] !== 255; at += 2 + (bytes[at + 1] ?? 0)) codes.push(bytes[at] ?? 0);
  return codes;
}

describe('round trip', () => {
  test('every message decodes to what was encoded', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const { bytes, dropped } = encodeDhcp(message, PLENTY);
        expect(dropped).toEqual([]);
        const again = decodeDhcp(bytes);
        expect({ ...again, options: null }).toEqual({ ...message, options: null });
        expect(new Map(again.options)).toEqual(message.options);
      }),
      { numRuns: 500 },
    );
  });

  test('reports what does not fit, keeps the rest whole, and never exceeds the limit', () => {
    fc.assert(
      fc.property(anyMessage, fc.integer({ min: 300, max: 1472 }), (message, maxBytes) => {
        const essential = [53, 54, 51, 1].reduce(
          (size, code) => size + (message.options.get(code)?.length ?? 0) + 8,
          0,
        );
        fc.pre(240 + essential < maxBytes);
        const { bytes, dropped } = encodeDhcp(message, { maxBytes });
        expect(bytes.length).toBeLessThanOrEqual(maxBytes);
        const kept = [...message.options].filter(([code]) => !dropped.includes(code));
        expect(new Map(decodeDhcp(bytes).options)).toEqual(new Map(kept));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the wire form', () => {
  test('is padded with zeros after END to the 300 bytes of a BOOTP message', () => {
    const { bytes } = encodeDhcp(withOptions([[53, Uint8Array.of(2)]]), PLENTY);
    expect(bytes).toHaveLength(300);
    expect([...bytes.subarray(240, 246)]).toEqual([53, 1, 2, 255, 0, 0]);
    expect(bytes.subarray(244).every((byte) => byte === 0)).toBe(true);
  });

  test('has 53 and 54 first, 67 after the rest, 82 last, and otherwise the order of the message', () => {
    const order = [82, 67, 97, 51, 54, 60, 1, 53];
    const { bytes } = encodeDhcp(withOptions(order.map((code) => [code, value(4)])), PLENTY);
    expect(codesOnWire(bytes)).toEqual([53, 54, 97, 51, 60, 1, 67, 82]);
  });

  test('splits a value of more than 255 bytes into consecutive instances', () => {
    const { bytes } = encodeDhcp(
      withOptions([
        [43, value(511)],
        [12, value(3)],
      ]),
      PLENTY,
    );
    expect(codesOnWire(bytes)).toEqual([43, 43, 43, 12]);
    expect([bytes[241], bytes[241 + 257], bytes[241 + 514]]).toEqual([255, 255, 1]);
    const whole = encodeDhcp(withOptions([[43, value(255)]]), PLENTY);
    expect(codesOnWire(whole.bytes)).toEqual([43]);
  });

  test('has file and sname in the header, NUL-terminated', () => {
    const { bytes } = encodeDhcp({ ...plainMessage, file: 'f'.repeat(127), sname: 's'.repeat(63) }, PLENTY);
    expect([bytes[44 + 62], bytes[44 + 63], bytes[108 + 126], bytes[108 + 127]]).toEqual([0x73, 0, 0x66, 0]);
  });
});

describe('when not everything fits', () => {
  test('the message order is the priority, and later options that still fit are kept', () => {
    const message = withOptions([
      [53, value(1)],
      [3, value(4)],
      [119, value(100)],
      [12, value(6)],
      [15, value(40)],
    ]);
    // 240 + END, 53: 3, 3: 6, 12: 8, 15: 42
    expect(encodeDhcp(message, { maxBytes: 300 })).toMatchObject({ dropped: [119] });
    expect(
      encodeDhcp({ ...message, options: new Map([...message.options, [67, value(30)]]) }, { maxBytes: 300 }),
    ).toMatchObject({
      dropped: [119, 67],
    });
  });

  test('67 keeps its priority in the message, though it is written late', () => {
    const message = withOptions([
      [67, value(50)],
      [15, value(40)],
    ]);
    expect(encodeDhcp(message, { maxBytes: 300 }).dropped).toEqual([15]);
  });

  test('the essential options and the relay agent option have priority over all others', () => {
    const message = withOptions([
      [12, value(20)],
      [53, value(1)],
      [54, value(4)],
      [51, value(4)],
      [1, value(4)],
      [82, value(30)],
    ]);
    const { bytes, dropped } = encodeDhcp(message, { maxBytes: 300 });
    expect(dropped).toEqual([12]);
    expect(codesOnWire(bytes)).toEqual([53, 54, 51, 1, 82]);
  });

  test('a relay agent option that does not fit is dropped as a whole', () => {
    const { bytes, dropped } = encodeDhcp(
      withOptions([
        [82, value(100)],
        [53, value(1)],
        [12, value(5)],
      ]),
      { maxBytes: 300 },
    );
    expect(dropped).toEqual([82]);
    expect(codesOnWire(bytes)).toEqual([53, 12]);
  });

  test('a message that fits exactly loses nothing', () => {
    const message = withOptions([[43, value(57)]]);
    expect(encodeDhcp(message, { maxBytes: 300 }).dropped).toEqual([]);
    expect(encodeDhcp(withOptions([[43, value(58)]]), { maxBytes: 300 }).dropped).toEqual([43]);
  });
});

describe('rejects what cannot be encoded, by field name', () => {
  const cases: readonly [string, Partial<DhcpMessage>, string][] = [
    ['an option code of 0', { options: new Map([[0, value(1)]]) }, 'option 0'],
    ['an option code of 255', { options: new Map([[255, value(1)]]) }, 'option 255'],
    ['an option code that is not a byte', { options: new Map([[300, value(1)]]) }, 'option 300'],
    ['overloading', { options: new Map([[52, value(1)]]) }, 'option 52'],
    ['a subnet mask longer than the message', { options: new Map([[1, value(2000)]]) }, 'options'],
    ['a file without room for its NUL', { file: 'f'.repeat(128) }, 'file'],
    ['a file outside Latin-1', { file: 'ipxe\u20ac.efi' }, 'file'],
    ['a file with a NUL inside', { file: 'a\0b' }, 'file'],
    ['a server name without room for its NUL', { sname: 's'.repeat(64) }, 'sname'],
    ['a short hardware address', { chaddr: value(6) }, 'chaddr'],
    ['a hardware address longer than its field', { hlen: 17 }, 'hlen'],
    ['too many hops', { hops: 17 }, 'hops'],
    ['a negative xid', { xid: -1 }, 'xid'],
    ['half seconds', { secs: 0.5 }, 'secs'],
    ['an address of five numbers', { yiaddr: '1.2.3.4.5' as Ipv4 }, 'yiaddr'],
    ['an address of three numbers', { yiaddr: '1.2.3' as Ipv4 }, 'yiaddr'],
    ['an address with a number too large', { siaddr: '1.2.3.256' as Ipv4 }, 'siaddr'],
    ['an address that is a name', { giaddr: 'relay' as Ipv4 }, 'giaddr'],
    ['an empty address', { ciaddr: '' as Ipv4 }, 'ciaddr'],
  ];

  test.each(cases)('%s', (_, change, field) => {
    const encode = () => encodeDhcp({ ...plainMessage, ...change }, { maxBytes: 1472 });
    expect(encode).toThrow(DhcpEncodeError);
    expect(encode).toThrow(expect.objectContaining({ field }));
  });

  test('a limit below the minimum message size', () => {
    expect(() => encodeDhcp(plainMessage, { maxBytes: 299 })).toThrow(
      'maxBytes: 299 is less than the minimum message size of 300 bytes',
    );
  });
});
