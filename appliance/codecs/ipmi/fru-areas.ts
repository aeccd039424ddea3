// Platform Management FRU Information Storage Definition v1.0 §8, §10 to §12: chassis, board and product.
//
//   header   | 01 | internal | chassis | board | product | multi | 0 | sum |     offsets in units of 8 bytes
//   area     | 01 | length in units of 8 | … fields, each with a type and length byte … | C1 | 0 … | sum |

import { ByteReader } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';
import { checksum } from './message.ts';
import { decodeText, END_OF_FIELDS, textLength } from './text-field.ts';

export const FRU_HEADER_BYTES = 8;
const UNIT = 8;
const FORMAT_VERSION = 0x01;
/** Board dates are minutes since this time. */
const FIRST_MINUTE = Date.UTC(1996, 0, 1);
const MINUTE_MS = 60_000;

export interface FruInventory {
  readonly chassis: { readonly partNumber: string; readonly serial: string } | null;
  readonly board: {
    /** Milliseconds since 1970, or null if the vendor omitted it. */
    readonly manufactured: number | null;
    readonly manufacturer: string;
    readonly product: string;
    readonly serial: string;
    readonly partNumber: string;
  } | null;
  readonly product: {
    readonly manufacturer: string;
    readonly name: string;
    readonly partNumber: string;
    readonly version: string;
    readonly serial: string;
    readonly assetTag: string;
  } | null;
  /** Free fields of the vendor, of all areas. */
  readonly custom: readonly string[];
}

export interface FruHeader {
  readonly chassisAt: number;
  readonly boardAt: number;
  readonly productAt: number;
}

export function decodeFruHeader(bytes: Uint8Array): FruHeader {
  const reader = new ByteReader(bytes);
  const offset = reader.offset;
  const version = reader.uint8('FRU format version') & 0x0f;
  if (version !== FORMAT_VERSION) throw new IpmiDecodeError('FRU format version', offset, `is ${version}, not 1`);
  const offsets = reader.bytes(FRU_HEADER_BYTES - 1, 'FRU header');
  if (checksum(bytes.subarray(0, FRU_HEADER_BYTES)) !== 0) {
    throw new IpmiDecodeError('FRU header checksum', FRU_HEADER_BYTES - 1, 'does not match the header');
  }
  const at = (index: number): number => (offsets[index] ?? 0) * UNIT;
  return { chassisAt: at(1), boardAt: at(2), productAt: at(3) };
}

export function decodeFru(bytes: Uint8Array): FruInventory {
  const { chassisAt, boardAt, productAt } = decodeFruHeader(bytes);
  const custom: string[] = [];
  return {
    chassis: chassisAt === 0 ? null : decodeChassis(areaReader(bytes, chassisAt, 'chassis area'), custom),
    board: boardAt === 0 ? null : decodeBoard(areaReader(bytes, boardAt, 'board area'), custom),
    product: productAt === 0 ? null : decodeProduct(areaReader(bytes, productAt, 'product area'), custom),
    custom,
  };
}

function areaReader(bytes: Uint8Array, at: number, area: string): ByteReader {
  const reader = new ByteReader(bytes, at);
  reader.uint8(`${area} version`);
  const length = reader.uint8(`${area} length`) * UNIT;
  if (length === 0 || at + length > bytes.length) {
    throw new IpmiDecodeError(`${area} length`, at + 1, `${length} bytes do not fit in ${bytes.length - at}`);
  }
  if (checksum(bytes.subarray(at, at + length)) !== 0) {
    throw new IpmiDecodeError(`${area} checksum`, at + length - 1, 'does not match the area');
  }
  return new ByteReader(bytes.subarray(0, at + length - 1), at + 2);
}

interface Fields {
  /** The next field; empty after the end mark, because vendors omit the last ones. */
  readonly next: () => string;
  /** What is left, without empty fields. */
  readonly rest: () => readonly string[];
}

function fieldsOf(reader: ByteReader): Fields {
  let ended = false;
  const next = (): string => {
    if (ended || reader.remaining === 0) return '';
    const typeLength = reader.uint8('field type and length');
    ended = typeLength === END_OF_FIELDS;
    return ended ? '' : decodeText(typeLength, reader.bytes(textLength(typeLength), 'field'));
  };
  const rest = (): readonly string[] => {
    const found: string[] = [];
    try {
      while (!ended && reader.remaining > 0) found.push(next());
    } catch (error) {
      // Some tools end an area without the mark: what follows is no field.
      if (!(error instanceof IpmiDecodeError)) throw error;
    }
    return found.filter((field) => field !== '');
  };
  return { next, rest };
}

function decodeChassis(reader: ByteReader, custom: string[]): FruInventory['chassis'] {
  reader.uint8('chassis type');
  const { next, rest } = fieldsOf(reader);
  const chassis = { partNumber: next(), serial: next() };
  custom.push(...rest());
  return chassis;
}

function decodeBoard(reader: ByteReader, custom: string[]): FruInventory['board'] {
  reader.uint8('language');
  const minutes = reader.uint24('manufacturing date');
  const { next, rest } = fieldsOf(reader);
  const board = {
    manufactured: minutes === 0 ? null : FIRST_MINUTE + minutes * MINUTE_MS,
    manufacturer: next(),
    product: next(),
    serial: next(),
    partNumber: next(),
  };
  skipFileId(next);
  custom.push(...rest());
  return board;
}

function decodeProduct(reader: ByteReader, custom: string[]): FruInventory['product'] {
  reader.uint8('language');
  const { next, rest } = fieldsOf(reader);
  const product = {
    manufacturer: next(),
    name: next(),
    partNumber: next(),
    version: next(),
    serial: next(),
    assetTag: next(),
  };
  skipFileId(next);
  custom.push(...rest());
  return product;
}

/** The file that the vendor made the area from. */
const skipFileId = (next: () => string): void => void next();
