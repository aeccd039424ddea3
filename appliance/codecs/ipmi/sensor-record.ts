// IPMI v2.0 §43.1, §43.2: full and compact sensor records; only the fields needed to name and read a sensor.

import { ByteReader } from './bytes.ts';
import { decodeRecordHeader, RECORD_HEADER_BYTES } from './commands/sensor-repository.ts';
import { decodeText, textLength } from './text-field.ts';

const FULL = 0x01;
const COMPACT = 0x02;

export type NumberForm = 'unsigned' | 'ones-complement' | 'twos-complement';
const NUMBER_FORMS: readonly (NumberForm | null)[] = ['unsigned', 'ones-complement', 'twos-complement', null];

/** §36.3: y = L[(M·x + B·10^bExponent) · 10^rExponent]. */
export interface Conversion {
  readonly form: NumberForm;
  readonly linearization: number;
  readonly multiplier: number;
  readonly offset: number;
  readonly offsetExponent: number;
  readonly resultExponent: number;
}

export interface SensorUnits {
  readonly percentage: boolean;
  /** Numbers of table 43-15. */
  readonly base: number;
  readonly modifier: number;
  readonly modifierUse: 'none' | 'divide' | 'multiply';
  readonly rate: number;
}

/** Raw readings; null if the sensor has no such readable threshold. */
export interface Thresholds {
  readonly lowerNonCritical: number | null;
  readonly lowerCritical: number | null;
  readonly lowerNonRecoverable: number | null;
  readonly upperNonCritical: number | null;
  readonly upperCritical: number | null;
  readonly upperNonRecoverable: number | null;
}

export interface SensorRecord {
  readonly id: number;
  readonly name: string;
  readonly owner: number;
  readonly ownerLun: number;
  readonly number: number;
  readonly entity: number;
  readonly entityInstance: number;
  readonly sensorType: number;
  readonly eventType: number;
  readonly units: SensorUnits;
  /** Null: this sensor reports states, not a value. */
  readonly conversion: Conversion | null;
  readonly thresholds: Thresholds | null;
}

/** Null for records of no readable sensor: event-only sensors, FRU locators, OEM records. */
export function decodeSensorRecord(bytes: Uint8Array): SensorRecord | null {
  const { id, type } = decodeRecordHeader(bytes);
  if (type !== FULL && type !== COMPACT) return null;
  const reader = new ByteReader(bytes, RECORD_HEADER_BYTES);
  const owner = reader.uint8('sensor owner');
  const ownerLun = reader.uint8('sensor owner LUN') & 0x03;
  const number = reader.uint8('sensor number');
  const entity = reader.uint8('entity id');
  const entityInstance = reader.uint8('entity instance') & 0x7f;
  reader.uint8('sensor initialization');
  reader.uint8('sensor capabilities');
  const sensorType = reader.uint8('sensor type');
  const eventType = reader.uint8('event type');
  reader.bytes(4, 'event masks');
  const readable = reader.uint16('reading mask') & 0xff;
  const unitFlags = reader.uint8('units 1');
  const units = decodeUnits(unitFlags, reader.uint8('base unit'), reader.uint8('modifier unit'));
  const form = NUMBER_FORMS[unitFlags >> 6] ?? null;
  let conversion: Conversion | null = null;
  let thresholds: Thresholds | null = null;
  if (type === FULL) {
    conversion = decodeConversion(reader, form);
    reader.bytes(5, 'nominal and limit readings');
    thresholds = decodeThresholds(reader, readable);
    reader.bytes(5, 'hysteresis, reserved and OEM');
  } else {
    reader.bytes(8, 'sharing, hysteresis, reserved and OEM');
  }
  const typeLength = reader.uint8('name type and length');
  const name = decodeText(typeLength, reader.bytes(Math.min(textLength(typeLength), reader.remaining), 'name'));
  return {
    id,
    name,
    owner,
    ownerLun,
    number,
    entity,
    entityInstance,
    sensorType,
    eventType,
    units,
    conversion,
    thresholds,
  };
}

function decodeUnits(flags: number, base: number, modifier: number): SensorUnits {
  const use = (flags >> 1) & 0x03;
  return {
    percentage: (flags & 0x01) !== 0,
    base,
    modifier,
    modifierUse: use === 1 ? 'divide' : use === 2 ? 'multiply' : 'none',
    rate: (flags >> 3) & 0x07,
  };
}

const signed = (value: number, bits: number): number => (value >= 2 ** (bits - 1) ? value - 2 ** bits : value);

function decodeConversion(reader: ByteReader, form: NumberForm | null): Conversion | null {
  const linearization = reader.uint8('linearization') & 0x7f;
  const multiplierLow = reader.uint8('M');
  const multiplierHigh = reader.uint8('M, tolerance') >> 6;
  const offsetLow = reader.uint8('B');
  const offsetHigh = reader.uint8('B, accuracy') >> 6;
  reader.uint8('accuracy');
  const exponents = reader.uint8('R and B exponents');
  reader.uint8('analog characteristics');
  if (form === null) return null;
  return {
    form,
    linearization,
    multiplier: signed((multiplierHigh << 8) | multiplierLow, 10),
    offset: signed((offsetHigh << 8) | offsetLow, 10),
    offsetExponent: signed(exponents & 0x0f, 4),
    resultExponent: signed(exponents >> 4, 4),
  };
}

/** The lower byte of the reading mask says which of the six thresholds are readable, the upper byte which are settable. */
function decodeThresholds(reader: ByteReader, readable: number): Thresholds {
  const take = (bit: number, field: string): number | null => {
    const value = reader.uint8(field);
    return (readable & (1 << bit)) !== 0 ? value : null;
  };
  const upperNonRecoverable = take(5, 'upper non-recoverable threshold');
  const upperCritical = take(4, 'upper critical threshold');
  const upperNonCritical = take(3, 'upper non-critical threshold');
  const lowerNonRecoverable = take(2, 'lower non-recoverable threshold');
  const lowerCritical = take(1, 'lower critical threshold');
  const lowerNonCritical = take(0, 'lower non-critical threshold');
  return {
    lowerNonCritical,
    lowerCritical,
    lowerNonRecoverable,
    upperNonCritical,
    upperCritical,
    upperNonRecoverable,
  };
}
