import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DhcpEncodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import {
  readIpv4,
  readIpv4List,
  readText,
  readU8,
  readU16,
  readU32,
  writeIpv4,
  writeIpv4List,
  writeTerminatedText,
  writeText,
  writeU8,
  writeU16,
  writeU32,
} from '../../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION, OPTION_KINDS, writeMessageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { ipv4FromNumber } from '../../../appliance/domain/ipv4.ts';
import { parsed } from '../../../appliance/domain/parsed.ts';
import { withOptions } from './dhcp-messages.ts';

const anyAddress = fc.nat({ max: 0xffffffff }).map(ipv4FromNumber);

describe('the table', () => {
  test('has each code once, each with the document that defines it', () => {
    expect(OPTION_KINDS.size).toBe(Object.keys(OPTION).length);
    for (const [code, kind] of OPTION_KINDS) {
      expect(code).toBeGreaterThan(0);
      expect(code).toBeLessThan(255);
      expect(kind.definedIn).toMatch(/^(RFC \d+|iPXE)/);
    }
    expect(OPTION_KINDS.get(OPTION.chassisUuid)).toMatchObject({ name: 'client machine identifier' });
  });
});

describe('the message type', () => {
  test.each([
    [1, 'discover'],
    [2, 'offer'],
    [3, 'request'],
    [4, 'decline'],
    [5, 'ack'],
    [6, 'nak'],
    [7, 'release'],
    [8, 'inform'],
  ] as const)('%i is %s, in both directions', (number, type) => {
    expect(messageType(withOptions([[53, Uint8Array.of(number)]]))).toBe(type);
    expect(writeMessageType(type)).toEqual(Uint8Array.of(number));
  });

  test('is null when the option is missing, unknown, or not one byte', () => {
    expect(messageType(withOptions([]))).toBeNull();
    for (const value of [[], [0], [9], [255], [1, 1]]) {
      expect(messageType(withOptions([[53, Uint8Array.from(value)]]))).toBeNull();
    }
  });
});

describe('values', () => {
  test.each([
    [8, 0xff, readU8, writeU8],
    [16, 0xffff, readU16, writeU16],
    [32, 0xffffffff, readU32, writeU32],
  ])('numbers of %i bits round-trip', (_, max, read, write) => {
    fc.assert(
      fc.property(fc.nat({ max }), (number) => {
        expect(read(write(number))).toEqual(parsed(number));
      }),
    );
  });

  test('numbers are big-endian', () => {
    expect(writeU16(1472)).toEqual(Uint8Array.of(0x05, 0xc0));
    expect(writeU32(3600)).toEqual(Uint8Array.of(0, 0, 0x0e, 0x10));
  });

  test('addresses round-trip', () => {
    fc.assert(
      fc.property(fc.array(anyAddress, { minLength: 1 }), (list) => {
        expect(readIpv4List(writeIpv4List(list))).toEqual(parsed(list));
        for (const address of list) expect(readIpv4(writeIpv4(address))).toEqual(parsed(address));
      }),
    );
  });

  test('text loses trailing NULs and keeps every other byte', () => {
    expect(readText(writeText('ipxe.efi'))).toBe('ipxe.efi');
    expect(readText(writeTerminatedText('ipxe.efi'))).toBe('ipxe.efi');
    expect(writeTerminatedText('ab')).toEqual(Uint8Array.of(97, 98, 0));
    expect(readText(Uint8Array.of(97, 0, 0xff, 0, 0))).toBe('a\0\xff');
    expect(readText(Uint8Array.of(0, 0))).toBe('');
  });

  test('of the wrong size are rejected, with the size', () => {
    expect(readU8(new Uint8Array())).toEqual({ ok: false, reason: 'a 1-byte number expected, got a length of 0' });
    expect(readU16(new Uint8Array(3))).toMatchObject({ ok: false });
    expect(readU32(new Uint8Array(3))).toMatchObject({ ok: false });
    expect(readIpv4(new Uint8Array(5))).toMatchObject({ ok: false });
    expect(readIpv4List(new Uint8Array(6))).toMatchObject({ ok: false });
    expect(readIpv4List(new Uint8Array())).toMatchObject({ ok: false });
  });

  test('that cannot be encoded are rejected', () => {
    for (const write of [() => writeU8(256), () => writeU16(-1), () => writeU32(2 ** 32), () => writeU8(1.5)]) {
      expect(write).toThrow(DhcpEncodeError);
    }
    expect(() => writeText('\u20ac')).toThrow('text: character 0 (code 8364) is not Latin-1 text');
  });
});
