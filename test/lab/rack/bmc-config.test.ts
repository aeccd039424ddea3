// Decodes the configuration of the simulated BMC with the decoders for real BMCs.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFru } from '../../../appliance/codecs/ipmi/fru-areas.ts';
import { decodeSensorRecord } from '../../../appliance/codecs/ipmi/sensor-record.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { lanConfig, simulatedBmc } from '../../../appliance/lab/rack/bmc-config.ts';
import { identicalMachines } from '../../../appliance/lab/rack/definition.ts';
import { encodeProduct } from '../../../appliance/lab/rack/fru.ts';
import { RACK_SENSORS, sensorRecord } from '../../../appliance/lab/rack/sensors.ts';

describe('the FRU inventory of a simulated BMC', () => {
  const field = fc
    .string({ unit: fc.constantFrom(...'abcXYZ019 -.'), minLength: 2, maxLength: 63 })
    .filter((text) => text.trim() === text);

  it('decodes to the encoded values', () => {
    fc.assert(
      fc.property(field, field, field, (manufacturer, name, serial) => {
        const { product, board, chassis } = decodeFru(Uint8Array.from(encodeProduct({ manufacturer, name, serial })));
        expect(product).toMatchObject({ manufacturer, name, serial, partNumber: '', version: '', assetTag: '' });
        expect([board, chassis]).toEqual([null, null]);
      }),
    );
  });

  it.each(['x', 'x'.repeat(64)])('rejects a text that its format cannot hold', (serial) => {
    expect(() => encodeProduct({ manufacturer: 'Coldiron', name: 'machine', serial })).toThrow('cannot hold');
  });
});

describe('a sensor of a simulated BMC', () => {
  it.each(RACK_SENSORS.map((sensor, index) => [sensor.name, sensor, index + 1] as const))(
    '%s decodes to its unit, its scale and its thresholds',
    (name, sensor, number) => {
      const { step, upper, lower } = sensor;
      const record = decodeSensorRecord(Uint8Array.from(sensorRecord(sensor, number)));
      expect(record).toMatchObject({ name, number, sensorType: sensor.type, units: { base: sensor.unit } });
      expect(record?.conversion).toMatchObject({ multiplier: step, offset: 0, resultExponent: 0 });
      expect(record?.thresholds).toEqual({
        upperNonCritical: upper ? upper.nonCritical / step : null,
        upperCritical: upper ? upper.critical / step : null,
        upperNonRecoverable: upper ? upper.nonRecoverable / step : null,
        lowerNonCritical: lower ? lower.nonCritical / step : null,
        lowerCritical: lower ? lower.critical / step : null,
        lowerNonRecoverable: lower ? lower.nonRecoverable / step : null,
      });
    },
  );
});

describe('the configuration of a simulated BMC', () => {
  const [machine] = identicalMachines(1).machines;
  if (!machine) throw new Error('a rack without a machine');
  const places = { chassisCommand: '/rack/chassis node01', serialPort: '/dev/pts/7' };

  it('has the password in only one of its files, and a KCS port only where requested', () => {
    const text = lanConfig(machine, new Secret('lab-password'), places);
    expect(text).toContain('user 2 true "admin" "lab-password" admin 10 md5');
    expect(text).toContain('chassis_control "/rack/chassis node01"');
    expect(text).toContain('sol "/dev/pts/7" 115200');
    expect(text).not.toContain('serial kcs');
    expect(lanConfig({ ...machine, inBandBmc: true }, new Secret('x'), places)).toContain('serial kcs 127.0.0.1 9001');
    expect(simulatedBmc(machine)).not.toContain('lab-password');
  });
});
