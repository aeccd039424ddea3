import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boolean,
  contextTag,
  element,
  objectIdentifier,
  octetString,
  sequence,
  TAG,
  time,
  unsignedInteger,
} from '../../../appliance/codecs/x509/der.ts';
import {
  DerError,
  DerReader,
  membersOf,
  readObjectIdentifier,
  readOnly,
} from '../../../appliance/codecs/x509/der-reader.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));

describe('DER encoding', () => {
  it.each([
    ['an empty sequence', sequence(), '3000'],
    ['a length below 128 in one byte', octetString(new Uint8Array(127)), `047f${'00'.repeat(127)}`],
    ['a length from 128 on with a count', octetString(new Uint8Array(128)), `048180${'00'.repeat(128)}`],
    ['a length from 256 on in two bytes', octetString(new Uint8Array(256)), `04820100${'00'.repeat(256)}`],
    ['zero as one byte', unsignedInteger(Uint8Array.of(0, 0)), '020100'],
    ['a number without leading zeros', unsignedInteger(Uint8Array.of(0, 0, 1)), '020101'],
    ['a number that starts with a one bit after a zero', unsignedInteger(Uint8Array.of(0x80)), '02020080'],
    ['true as all ones (X.690 §11.1)', boolean(true), '0101ff'],
    ['an object identifier (RFC 5280: id-ce-keyUsage)', objectIdentifier('2.5.29.15'), '0603551d0f'],
    ['a large arc in base 128', objectIdentifier('1.2.840.10045.4.3.2'), '06082a8648ce3d040302'],
    ['a time before 2050 as UTCTime', time(Date.UTC(2049, 11, 31, 23, 59, 59)), `170d${hex(ascii('491231235959Z'))}`],
    ['a time from 2050 on as GeneralizedTime', time(Date.UTC(2050, 0, 1)), `180f${hex(ascii('20500101000000Z'))}`],
    ['a context-specific tag', element(contextTag(3, true), sequence()), 'a3023000'],
  ])('%s', (_what, written, expected) => {
    expect(hex(written)).toBe(expected);
  });
});

describe('DER decoding', () => {
  it('round-trips any value', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 5 }), (contents) => {
        const reader = membersOf(readOnly(sequence(...contents.map(octetString)), TAG.sequence, 'all'), 'all');
        for (const content of contents) expect(hex(reader.next(TAG.octetString, 'one').content)).toBe(hex(content));
        expect(reader.isAtEnd).toBe(true);
        reader.end();
      }),
    );
  });

  it('round-trips object identifiers', () => {
    const arcs = fc.tuple(fc.constantFrom(0, 1, 2), fc.nat(39), fc.array(fc.nat(2 ** 31), { maxLength: 6 }));
    fc.assert(
      fc.property(arcs, ([first, second, rest]) => {
        const dotted = [first, second, ...rest].join('.');
        expect(readObjectIdentifier(readOnly(objectIdentifier(dotted), TAG.objectIdentifier, 'x'), 'x')).toBe(dotted);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['a tag alone', '30'],
    ['fewer bytes than its length', '3002 05'],
    ['trailing bytes', '3000 00'],
    ['an indefinite length', '3080 0000'],
    ['a length with a count that is not needed', '308101 00'],
    ['a length with a leading zero', `30820001${'00'}`],
    ['a length from 128 on with a leading zero', `30820080${'00'.repeat(128)}`],
    ['a length of more than four bytes', '308500000000 01 00'],
    ['a tag of several bytes', '3f8100 00'],
    ['another tag', '3100'],
  ])('rejects %s', (_what, text) => {
    expect(() => readOnly(bytes(text), TAG.sequence, 'thing')).toThrow(DerError);
  });

  it.each([
    ['an empty one', '0600'],
    ['a truncated arc', '060286f7'],
    ['an arc with a leading zero', '0603558001'],
    ['an arc that is too large', '060b55ffffffffffffffffff7f'],
    ['another type', '040155'],
  ])('rejects as an object identifier: %s', (_what, text) => {
    expect(() => readObjectIdentifier(new DerReader(bytes(text), 'x').any('x'), 'x')).toThrow(DerError);
  });

  it('only ever throws a DerError, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (random) => {
        try {
          const members = membersOf(readOnly(random, TAG.sequence, 'x'), 'x');
          while (!members.isAtEnd) members.any('y');
        } catch (error) {
          expect(error).toBeInstanceOf(DerError);
        }
      }),
    );
  });
});

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
