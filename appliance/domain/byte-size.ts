// Parses and formats disk sizes: 480GB, 1.92TB, 512MiB.

import { type Parsed, parsed, shown, unparsable } from './parsed.ts';

const UNITS: readonly (readonly [unit: string, bytes: number])[] = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
];
const FORM = /^(\d{1,9}(?:\.\d{1,3})?) ?([MGT]i?B)$/;

/** Whole bytes. The unit is required: disks are sold in GB, memory in GiB. */
export function parseByteSize(text: string): Parsed<number> {
  const [, number, unit] = FORM.exec(text) ?? [];
  const factor = UNITS.find(([name]) => name === unit)?.[1];
  if (number === undefined || factor === undefined) {
    return unparsable(`not a size (a number and MB, GB, TB, MiB, GiB or TiB, like 480GB): ${shown(text)}`);
  }
  const bytes = Math.round(Number(number) * factor);
  return Number.isSafeInteger(bytes) ? parsed(bytes) : unparsable(`larger than any disk: ${shown(text)}`);
}

/** A text that parses back to the same number; every parsed size has one. */
export function byteSizeText(bytes: number): string {
  for (const [unit, factor] of UNITS) {
    const text = `${Number((bytes / factor).toFixed(3))}${unit}`;
    const again = parseByteSize(text);
    if (bytes >= factor && again.ok && again.value === bytes) return text;
  }
  return `${bytes / 1e6}MB`;
}

const SHOWN_UNITS = {
  decimal: { step: 1000, units: ['bytes', 'kB', 'MB', 'GB', 'TB'] },
  binary: { step: 1024, units: ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] },
} as const;

/** For a person: three significant digits, or all digits before the point. Disks are sold in GB, memory in GiB. */
export function bytesInWords(bytes: number, kind: keyof typeof SHOWN_UNITS = 'decimal'): string {
  const { step, units } = SHOWN_UNITS[kind];
  let value = bytes;
  let unit = 0;
  // 999.6 would be rounded up to 1000.
  while (Math.round(value) >= step && unit < units.length - 1) {
    value /= step;
    unit += 1;
  }
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${units[unit]}`;
}
