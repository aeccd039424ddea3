import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getSensorReading } from '../../../appliance/codecs/ipmi/commands/sensor-reading.ts';
import { decodeFru } from '../../../appliance/codecs/ipmi/fru-areas.ts';
import { type Conversion, decodeSensorRecord, type SensorUnits } from '../../../appliance/codecs/ipmi/sensor-record.ts';
import { convertReading, unitText } from '../../../appliance/codecs/ipmi/sensor-value.ts';
import { decodeText } from '../../../appliance/codecs/ipmi/text-field.ts';
import { fruWithSerial, simulatedMachine } from '../../bmc/ipmi/simulator/machine.ts';

const machine = simulatedMachine([]);
const IDENTITY: Conversion = {
  form: 'unsigned',
  linearization: 0,
  multiplier: 1,
  offset: 0,
  offsetExponent: 0,
  resultExponent: 0,
};
const PLAIN: SensorUnits = { percentage: false, base: 0, modifier: 0, modifierUse: 'none', rate: 0 };

describe('a sensor record', () => {
  it('has the name of the sensor and the conversion of its value', () => {
    expect(decodeSensorRecord(machine.sensorRecords[1] ?? new Uint8Array())).toMatchObject({
      name: 'Vcore',
      number: 0x31,
      sensorType: 2,
      conversion: { multiplier: 1, offset: 1, offsetExponent: 2, resultExponent: -2 },
      thresholds: { upperCritical: 0xbe, lowerCritical: null },
    });
  });

  it('has no value when it is compact', () => {
    expect(decodeSensorRecord(machine.sensorRecords[3] ?? new Uint8Array())).toMatchObject({
      name: 'Watchdog',
      conversion: null,
      thresholds: null,
    });
  });

  it('is null when it does not describe a sensor', () => {
    expect(decodeSensorRecord(Uint8Array.of(1, 0, 0x51, 0x11, 0))).toBeNull();
  });
});

describe('a reading', () => {
  it.each([
    ['unchanged', 45, {}, 45],
    ['scaled down', 46, { multiplier: 5, resultExponent: -1 }, 23],
    ['with an offset', 20, { offset: 1, offsetExponent: 2, resultExponent: -2 }, 1.2],
    ['with a negative factor', 10, { multiplier: -2 }, -20],
    ["in two's complement", 0xf6, { form: 'twos-complement' as const }, -10],
    ["in one's complement", 0xf5, { form: 'ones-complement' as const }, -10],
    ['squared', 12, { linearization: 8 }, 144],
    ['inverted', 4, { linearization: 7 }, 0.25],
    ['inverted at zero, which has no value', 0, { linearization: 7 }, null],
    ['non-linear, which only the BMC can compute', 4, { linearization: 0x70 }, null],
  ])('is converted %s', (_how, raw, change, expected) => {
    expect(convertReading(raw, { ...IDENTITY, ...change })).toBe(expected);
  });

  it('increases with the raw value wherever the formula is linear and rising', () => {
    const factors = fc.record({
      multiplier: fc.integer({ min: 1, max: 511 }),
      offset: fc.integer({ min: -512, max: 511 }),
      offsetExponent: fc.integer({ min: -3, max: 3 }),
      resultExponent: fc.integer({ min: -3, max: 3 }),
    });
    fc.assert(
      fc.property(factors, fc.integer({ min: 0, max: 254 }), (change, raw) => {
        const conversion = { ...IDENTITY, ...change };
        expect(convertReading(raw + 1, conversion) ?? 0).toBeGreaterThan(convertReading(raw, conversion) ?? 0);
      }),
    );
  });

  it('is null while the sensor is not scanned or has no reading', () => {
    expect(getSensorReading(1).decode(Uint8Array.of(45, 0xc0, 0x08))).toEqual({ raw: 45, states: 8 });
    expect(getSensorReading(1).decode(Uint8Array.of(45, 0x80, 0x08))).toEqual({ raw: null, states: 0 });
    expect(getSensorReading(1).decode(Uint8Array.of(45, 0xe0))).toEqual({ raw: null, states: 0 });
  });

  it('has a unit', () => {
    expect(unitText({ ...PLAIN, base: 1 })).toBe('°C');
    expect(unitText({ ...PLAIN, percentage: true })).toBe('%');
    expect(unitText({ ...PLAIN, base: 73, rate: 3 })).toBe('B/s');
    expect(unitText({ ...PLAIN, base: 6, modifier: 24, modifierUse: 'multiply' })).toBe('W·h');
    expect(unitText({ ...PLAIN, base: 99 })).toBe('unit 99');
  });
});

describe('text', () => {
  it.each([
    ['eight bits', 0xc5, [0x46, 0x61, 0x6e, 0x20, 0x31], 'Fan 1'],
    ['eight bits with padding', 0xc4, [0x46, 0x31, 0x00, 0x20], 'F1'],
    // "IPMI", packed as in the example of the FRU specification.
    ['six bits', 0x83, [0x29, 0xdc, 0xa6], 'IPMI'],
    ['BCD', 0x42, [0x12, 0x3b], '123-'],
    ['binary', 0x02, [0xab, 0x01], 'ab01'],
  ])('is read in %s', (_form, typeLength, bytes, expected) => {
    expect(decodeText(typeLength, Uint8Array.from(bytes))).toBe(expected);
  });
});

describe('a FRU', () => {
  it('has chassis, board and product', () => {
    expect(decodeFru(machine.fru)).toEqual({
      chassis: { partNumber: 'CH-2U', serial: 'CH000017' },
      board: {
        manufactured: Date.UTC(2023, 10, 14),
        manufacturer: 'Ironworks',
        product: 'IW-Board',
        serial: 'BRD123',
        partNumber: 'PN-9',
      },
      product: {
        manufacturer: 'Ironworks',
        name: 'Anvil 2',
        partNumber: 'A2-16',
        version: 'v3',
        serial: 'SN42',
        assetTag: 'tag',
      },
      custom: [],
    });
    expect(decodeFru(fruWithSerial('SN1', 'MAC=02:00:00:00:00:01', 'free')).custom).toEqual([
      'MAC=02:00:00:00:00:01',
      'free',
    ]);
  });

  it('is rejected with any changed byte: every part has a checksum', () => {
    for (let at = 0; at < machine.fru.length; at++) {
      const changed = machine.fru.with(at, (machine.fru[at] ?? 0) ^ 0x10);
      expect(() => decodeFru(changed), `byte ${at}`).toThrow();
    }
  });
});
