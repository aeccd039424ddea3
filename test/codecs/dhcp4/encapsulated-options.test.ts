import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DhcpEncodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import { readIpxe } from '../../../appliance/codecs/dhcp4/ipxe-encapsulated.ts';
import {
  bootFileWithoutDiscovery,
  readBootItem,
  readPxeVendor,
  writePxeVendor,
} from '../../../appliance/codecs/dhcp4/pxe-vendor.ts';
import { readRelayAgent } from '../../../appliance/codecs/dhcp4/relay-agent.ts';
import { readSubOptions, writeSubOptions } from '../../../appliance/codecs/dhcp4/sub-options.ts';
import { ascii } from './dhcp-messages.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe('sub-options', () => {
  test.each(['with-pad-and-end', 'codes-only'] as const)('%s: reads back what was written', (encapsulation) => {
    const code = encapsulation === 'codes-only' ? fc.nat({ max: 255 }) : fc.integer({ min: 1, max: 254 });
    const entry = fc.tuple(
      code,
      fc.uint8Array({ maxLength: 255 }).map((array) => new Uint8Array(array)),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 10 }), (entries) => {
        const values = new Map(entries);
        const read = readSubOptions(writeSubOptions(values, encapsulation), encapsulation);
        expect(new Map(read.values)).toEqual(values);
        expect(read.damage).toBeNull();
      }),
    );
  });

  test.each(['with-pad-and-end', 'codes-only'] as const)(
    '%s: reads any bytes up to the first malformed sub-option',
    (encapsulation) => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 300 }), (value) => {
          const { values } = readSubOptions(value, encapsulation);
          let size = 0;
          for (const [, sub] of values) size += 2 + sub.length;
          expect(size).toBeLessThanOrEqual(value.length);
        }),
      );
    },
  );

  test('rejects sub-options that cannot be encoded', () => {
    expect(() => writeSubOptions(new Map([[255, bytes(1)]]), 'with-pad-and-end')).toThrow(DhcpEncodeError);
    expect(() => writeSubOptions(new Map([[256, bytes(1)]]), 'codes-only')).toThrow(DhcpEncodeError);
    expect(() => writeSubOptions(new Map([[1, new Uint8Array(256)]]), 'codes-only')).toThrow(
      'sub-option 1: holds at most 255 bytes, got 256',
    );
  });
});

describe('option 43 of PXE', () => {
  test('tells a client in four bytes to fetch the named file at once', () => {
    expect(bootFileWithoutDiscovery()).toEqual(bytes(0x06, 0x01, 0x08, 0xff));
  });

  test('carries the boot menu that a Raspberry Pi boot ROM requires', () => {
    const menu = bytes(0, 0, 17, ...ascii('Raspberry Pi Boot'));
    const value = writePxeVendor(
      new Map([
        [9, menu],
        [10, bytes(0, ...ascii('PXE'))],
      ]),
    );
    expect([...readPxeVendor(value).values.keys()]).toEqual([9, 10]);
    expect(value.at(-1)).toBe(255);
  });

  test('skips padding and stops at END', () => {
    const { values, damage } = readPxeVendor(bytes(0, 0, 6, 1, 8, 255, 9, 200));
    expect([...values]).toEqual([[6, bytes(8)]]);
    expect(damage).toBeNull();
  });

  test('reports a sub-option that extends past the end and keeps those before it', () => {
    const { values, damage } = readPxeVendor(bytes(6, 1, 8, 9, 200, 1));
    expect([...values.keys()]).toEqual([6]);
    expect(damage).toBe('sub-option 9 at byte 3 extends past the end');
    expect(readPxeVendor(bytes(6)).damage).toBe('sub-option 6 at byte 0 extends past the end');
  });

  test('reads type and layer of a boot item', () => {
    expect(readBootItem(bytes(0x80, 0x01, 0x00, 0x02))).toEqual({ ok: true, value: { type: 0x8001, layer: 2 } });
    expect(readBootItem(bytes(0, 1))).toMatchObject({ ok: false });
  });
});

describe('option 82', () => {
  test('reads port, switch, subnet and server override', () => {
    const value = bytes(1, 4, ...ascii('Gi01'), 2, 3, 0, 1, 2, 5, 4, 10, 0, 100, 0, 11, 4, 10, 0, 1, 1);
    expect(readRelayAgent(value)).toEqual({
      circuitId: Uint8Array.from(ascii('Gi01')),
      remoteId: bytes(0, 1, 2),
      linkSelection: '10.0.100.0',
      serverOverride: '10.0.1.1',
      damage: null,
    });
  });

  test('has neither PAD nor END: 0 and 255 are ordinary codes', () => {
    expect(readRelayAgent(bytes(0, 1, 9, 255, 0, 1, 1, 65))).toMatchObject({ circuitId: bytes(65), damage: null });
  });

  test('uses the first of two and reports the duplicate', () => {
    expect(readRelayAgent(bytes(1, 1, 65, 1, 1, 66))).toMatchObject({
      circuitId: bytes(65),
      damage: 'sub-option 1 at byte 3 is a duplicate: the first one is used',
    });
  });

  test('rejects a truncated address', () => {
    const relay = readRelayAgent(bytes(5, 2, 10, 0, 11, 5, 1, 2, 3, 4, 5));
    expect(relay).toMatchObject({ linkSelection: null, serverOverride: null });
    expect(relay.damage).toBe(
      'sub-option 5: an IPv4 address has 4 bytes, this has 2; sub-option 11: an IPv4 address has 4 bytes, this has 5',
    );
  });
});

describe('option 175 of iPXE', () => {
  // Debian's 2019 build, as QEMU's ROM sends it.
  const ROM = 'b105011af41000eb03010000170101220101130101110101270101190101290101100102210101150101180101120101';

  test('reads version, features and the NIC', () => {
    const ipxe = readIpxe(Uint8Array.from(Buffer.from(ROM, 'hex')));
    expect(ipxe.version).toBe('1.0.0');
    expect([...ipxe.features].sort().join(' ')).toBe(
      'aoe bzimage dns elf http iscsi menu multiboot nfs pxe pxe-ext tftp',
    );
    expect(ipxe.busId).toEqual(bytes(0x01, 0x1a, 0xf4, 0x10, 0x00));
    expect(ipxe.damage).toBeNull();
  });

  test('ignores a feature with value zero and unknown features', () => {
    expect(readIpxe(bytes(0x13, 1, 0, 0x14, 1, 1, 0x7f, 1, 1)).features).toEqual(new Set(['https']));
  });

  test('has no version unless it is three numbers', () => {
    expect(readIpxe(bytes(0xeb, 2, 1, 21)).version).toBeNull();
  });

  test('keeps the sub-options before a malformed one', () => {
    const ipxe = readIpxe(bytes(0x13, 1, 1, 0xeb, 3, 1));
    expect(ipxe.features).toEqual(new Set(['http']));
    expect(ipxe.damage).toBe('sub-option 235 at byte 3 extends past the end');
  });
});
