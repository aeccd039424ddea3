// IPMI v2.0 §35.14: the current reading of a sensor.

import { critical, type States, warning } from '../severity.ts';
import { type IpmiCommand, ipmiCommand, NET_FN } from './command.ts';

const SCANNING = 0x40;
const UNAVAILABLE = 0x20;

export interface SensorReading {
  /** Null: the sensor is not scanned, or has no reading yet. */
  readonly raw: number | null;
  /** Bit n: state n of its event type is asserted; for threshold sensors, threshold n is crossed. */
  readonly states: number;
}

export const getSensorReading = (sensor: number): IpmiCommand<SensorReading> =>
  ipmiCommand({
    name: 'Get Sensor Reading',
    netFn: NET_FN.sensor,
    command: 0x2d,
    data: [sensor],
    decode: (reader) => {
      const raw = reader.uint8('reading');
      const flags = reader.uint8('sensor flags');
      // Both state bytes are optional, and some BMCs omit them.
      const low = reader.remaining > 0 ? reader.uint8('states') : 0;
      const high = reader.remaining > 0 ? reader.uint8('further states') & 0x7f : 0;
      const usable = (flags & SCANNING) !== 0 && (flags & UNAVAILABLE) === 0;
      return { raw: usable ? raw : null, states: usable ? (high << 8) | low : 0 };
    },
  });

/** The order of the bits in `states` of a threshold sensor (event type 1). */
export const THRESHOLD_STATES: States = [
  warning('below lower non-critical'),
  critical('below lower critical'),
  critical('below lower non-recoverable'),
  warning('above upper non-critical'),
  critical('above upper critical'),
  critical('above upper non-recoverable'),
];
