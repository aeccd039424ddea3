// IPMI v2.0 §36.3 and table 43-15: converts the raw byte of a sensor to a number with a unit.

import type { Conversion, NumberForm, SensorUnits } from './sensor-record.ts';

/** Table 43-1, linearization. From 0x70 on, each reading needs its own factors, which only the BMC has. */
const LINEARIZATIONS: readonly ((value: number) => number)[] = [
  (value) => value,
  Math.log,
  Math.log10,
  Math.log2,
  Math.exp,
  (value) => 10 ** value,
  (value) => 2 ** value,
  (value) => 1 / value,
  (value) => value ** 2,
  (value) => value ** 3,
  Math.sqrt,
  Math.cbrt,
];

/** Null: the record alone is not sufficient to compute the value, or the formula is undefined for this reading. */
export function convertReading(raw: number, conversion: Conversion): number | null {
  const linearize = LINEARIZATIONS[conversion.linearization];
  if (!linearize) return null;
  const linear =
    (conversion.multiplier * signedReading(raw, conversion.form) +
      conversion.offset * 10 ** conversion.offsetExponent) *
    10 ** conversion.resultExponent;
  const value = linearize(linear);
  // Twelve digits are enough for any sensor, and remove rounding errors such as 0.30000000000000004.
  return Number.isFinite(value) ? Number(value.toPrecision(12)) : null;
}

function signedReading(raw: number, form: NumberForm): number {
  if (form === 'unsigned' || raw < 0x80) return raw;
  return form === 'twos-complement' ? raw - 0x100 : raw - 0xff;
}

/** Table 43-15, the units that servers use. */
const UNITS: Readonly<Record<number, string>> = {
  1: '°C',
  2: '°F',
  3: 'K',
  4: 'V',
  5: 'A',
  6: 'W',
  7: 'J',
  9: 'VA',
  17: 'CFM',
  18: 'RPM',
  19: 'Hz',
  20: 'µs',
  21: 'ms',
  22: 's',
  23: 'min',
  24: 'h',
  25: 'd',
  69: 'bit',
  70: 'kbit',
  71: 'Mbit',
  72: 'Gbit',
  73: 'B',
  74: 'kB',
  75: 'MB',
  76: 'GB',
};

const RATES = ['', '/µs', '/ms', '/s', '/min', '/h', '/d', ''] as const;

const unitName = (number: number): string => (number === 0 ? '' : (UNITS[number] ?? `unit ${number}`));

export function unitText(units: SensorUnits): string {
  const base = unitName(units.base);
  const modifier = unitName(units.modifier);
  const combined =
    units.modifierUse === 'divide'
      ? `${base}/${modifier}`
      : units.modifierUse === 'multiply'
        ? `${base}·${modifier}`
        : base;
  return `${units.percentage ? '%' : ''}${combined}${RATES[units.rate] ?? ''}`;
}
