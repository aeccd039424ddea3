// Platform Management FRU Information Storage Definition v1.0 §8 and §12: the product information of a machine's BMC.
//
//   header   | 01 | 0 | 0 | 0 | product, in units of 8 bytes | 0 | 0 | sum |
//   product  | 01 | length in units of 8 | language | maker | name | part | version | serial | asset | file | C1 | 0 … | sum |

export interface Product {
  readonly manufacturer: string;
  readonly name: string;
  readonly serial: string;
}

const FORMAT = 0x01;
const UNIT = 8;
const ENGLISH = 0;
const ASCII = 0xc0;
const END_OF_FIELDS = 0xc1;
/** The length of a field has six bits, and a single character would read as the end of the fields. */
const MAX_FIELD_LENGTH = 63;

export function encodeProduct({ manufacturer, name, serial }: Product): readonly number[] {
  const fields = [manufacturer, name, '', '', serial, '', ''].flatMap(field);
  const body = [FORMAT, 0, ENGLISH, ...fields, END_OF_FIELDS];
  const units = Math.ceil((body.length + 1) / UNIT);
  body[1] = units;
  const padding = Array<number>(units * UNIT - body.length - 1).fill(0);
  return [...withSum([FORMAT, 0, 0, 0, 1, 0, 0]), ...withSum([...body, ...padding])];
}

function field(text: string): number[] {
  if (text.length === 1 || text.length > MAX_FIELD_LENGTH) throw new RangeError(`a FRU field cannot hold "${text}"`);
  return [ASCII | text.length, ...Buffer.from(text, 'latin1')];
}

/** The sum of all bytes, the checksum included, is zero modulo 256. */
const withSum = (bytes: readonly number[]): number[] => [
  ...bytes,
  (0x100 - (bytes.reduce((sum, byte) => sum + byte, 0) & 0xff)) & 0xff,
];
