import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  readArchitectures,
  readClientIdentifier,
  readNetworkInterface,
  readUserClasses,
} from '../../../appliance/codecs/dhcp4/client-options.ts';
import { ascii } from './dhcp-messages.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe('the user class', () => {
  test('reads the bare text of iPXE', () => {
    expect(readUserClasses(bytes(...ascii('iPXE')))).toEqual(['iPXE']);
  });

  test('reads one length-prefixed class, as ONIE sends it', () => {
    expect(readUserClasses(bytes(20, ...ascii('onie_dhcp_user_class')))).toEqual(['onie_dhcp_user_class']);
  });

  test('reads several length-prefixed classes (RFC 3004)', () => {
    expect(readUserClasses(bytes(4, ...ascii('iPXE'), 3, ...ascii('lab')))).toEqual(['iPXE', 'lab']);
  });

  test('reads bare text when the lengths do not add up to the end', () => {
    expect(readUserClasses(bytes(4, ...ascii('iPXE'), 9, 65))).toEqual(['\x04iPXE\tA']);
    expect(readUserClasses(bytes(0, 65))).toEqual(['\0A']);
  });

  test('is an empty list when the option is empty', () => {
    expect(readUserClasses(bytes())).toEqual([]);
  });

  test('loses no byte, whatever is sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (value) => {
        const classes = readUserClasses(value);
        const size = classes.reduce((sum, text) => sum + text.length, 0);
        expect([size, size + classes.length]).toContain(value.length);
      }),
    );
  });
});

describe('the client identifier', () => {
  test('has a type and an identifier', () => {
    expect(readClientIdentifier(bytes(1, 0x52, 0x54, 0, 0x12, 0x34, 0x56))).toEqual({
      ok: true,
      value: { type: 1, identifier: bytes(0x52, 0x54, 0, 0x12, 0x34, 0x56) },
    });
  });

  test('rejects a value without both', () => {
    expect(readClientIdentifier(bytes(1))).toEqual({
      ok: false,
      reason: 'a client identifier needs at least 2 bytes, got 1',
    });
  });
});

describe('architecture and network interface', () => {
  test('reads the architecture as a list of 16-bit codes', () => {
    expect(readArchitectures(bytes(0, 7, 0, 16))).toEqual({ ok: true, value: [7, 16] });
    expect(readArchitectures(bytes(1, 0))).toEqual({ ok: true, value: [256] });
  });

  test('rejects an odd or empty architecture list', () => {
    expect(readArchitectures(bytes(0, 7, 0))).toMatchObject({ ok: false });
    expect(readArchitectures(bytes())).toMatchObject({ ok: false });
  });

  test('reads the type and version of the interface', () => {
    expect(readNetworkInterface(bytes(1, 3, 16))).toEqual({ ok: true, value: { type: 1, major: 3, minor: 16 } });
    expect(readNetworkInterface(bytes(1, 3))).toMatchObject({ ok: false });
  });
});
