// Writes a small ISO 9660 volume (ECMA-119, 4th edition, interchange level 1): files in the root directory, and nothing else. Section
// numbers below are those of ECMA-119.
//
//   sector  0–15  system area, empty (§6.2.1)
//          16     primary volume descriptor (§8.4)
//          17     volume descriptor set terminator (§8.3)
//          18, 19 path tables, little and big endian (§6.9)
//          20     root directory (§6.8)
//          21–    files, one after the other, then empty sectors

import type { Instant } from '../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';

export interface IsoFile {
  /** Up to eight capital letters, digits and underscores; then, if wanted, a dot and up to three more. */
  readonly name: string;
  readonly content: Uint8Array;
}

export interface IsoVolume {
  /** Up to 32 capital letters, digits and underscores. */
  readonly label: string;
  readonly files: readonly IsoFile[];
  readonly madeAt: Instant;
}

export const SECTOR_BYTES = 2048;
const DESCRIPTOR = 16;
const TERMINATOR = 17;
const PATH_TABLE_LITTLE = 18;
const PATH_TABLE_BIG = 19;
const ROOT = 20;
const FIRST_FILE = 21;
/** Drives read ahead, and some report an error at the end of a short medium: other authoring programs append as much. */
const EMPTY_AT_END = 150;
/** Their records fit in one sector: 2 × 34 bytes for the directory itself and its parent, at most 48 for a file. */
const MOST_FILES = 40;
const MOST_BYTES = 1 << 20;

export function isoVolume({ label, files, madeAt }: IsoVolume): Parsed<Uint8Array> {
  if (!/^[A-Z0-9_]{1,32}$/.test(label)) return unparsable(`not the label of an ISO 9660 volume: ${shown(label)}`);
  if (files.length > MOST_FILES) return unparsable(`more than ${MOST_FILES} files for one ISO 9660 directory`);
  const sorted = [...files].sort((one, other) => compare(sortedAs(one.name), sortedAs(other.name)));
  const records: Uint8Array[] = [];
  let next = FIRST_FILE;
  for (const [at, { name, content }] of sorted.entries()) {
    if (!/^[A-Z0-9_]{1,8}(?:\.[A-Z0-9_]{1,3})?$/.test(name))
      return unparsable(`not a file name of ISO 9660 level 1: ${shown(name)}`);
    if (sorted[at - 1]?.name === name) return unparsable(`two files have the name ${name}`);
    if (content.length > MOST_BYTES) return unparsable(`${name} is longer than ${MOST_BYTES} bytes`);
    records.push(record(identifierOf(name), { sector: next, bytes: content.length, madeAt, flags: 0 }));
    next += sectorsOf(content.length);
  }
  const sectors = next + EMPTY_AT_END;
  const image = new Uint8Array(sectors * SECTOR_BYTES);
  const put = (sector: number, bytes: Uint8Array): void => image.set(bytes, sector * SECTOR_BYTES);
  put(DESCRIPTOR, primaryDescriptor(label, sectors, madeAt));
  put(TERMINATOR, Uint8Array.of(255, ...ascii('CD001'), 1));
  put(PATH_TABLE_LITTLE, pathTable(true));
  put(PATH_TABLE_BIG, pathTable(false));
  put(ROOT, concatenated([rootRecord(SELF, madeAt), rootRecord(PARENT, madeAt), ...records]));
  let sector = FIRST_FILE;
  for (const { content } of sorted) {
    put(sector, content);
    sector += sectorsOf(content.length);
  }
  return parsed(image);
}

/** The identifiers of a directory itself and of its parent (§6.8.2.2). */
const SELF = Uint8Array.of(0);
const PARENT = Uint8Array.of(1);

/** The dot belongs to every name (§7.5.1); 1 is the version of the file. */
const identifierOf = (name: string): Uint8Array => ascii(`${name.includes('.') ? name : `${name}.`};1`);

/** By name, then by extension, each filled with spaces (§9.3). */
function sortedAs(name: string): string {
  const [base = '', extension = ''] = name.split('.');
  return `${base.padEnd(8)}${extension.padEnd(3)}`;
}
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

const sectorsOf = (bytes: number): number => Math.ceil(bytes / SECTOR_BYTES);

/** §8.4. Fields that are not written are zero. */
function primaryDescriptor(label: string, sectors: number, madeAt: Instant): Uint8Array {
  const bytes = new Uint8Array(SECTOR_BYTES);
  const put = (offset: number, field: Uint8Array): void => bytes.set(field, offset);
  put(0, Uint8Array.of(1, ...ascii('CD001'), 1));
  put(8, text('LINUX', 32));
  put(40, text(label, 32));
  put(80, both32(sectors));
  put(120, both16(1));
  put(124, both16(1));
  put(128, both16(SECTOR_BYTES));
  put(132, both32(PATH_TABLE_BYTES));
  put(140, number(PATH_TABLE_LITTLE, 4, true));
  put(148, number(PATH_TABLE_BIG, 4, false));
  put(156, rootRecord(SELF, madeAt));
  // Set, publisher, preparer, application; then the names of three files. None is named.
  for (const offset of [190, 318, 446, 574]) put(offset, text('', 128));
  for (const offset of [702, 739, 776]) put(offset, text('', 37));
  const made = ascii(new Date(madeAt).toISOString().replace(/\D/g, '').slice(0, 16));
  for (const offset of [813, 830]) put(offset, made);
  // Never expires, and is valid at once (§8.4.26.1).
  for (const offset of [847, 864]) put(offset, ascii('0'.repeat(16)));
  put(881, Uint8Array.of(1));
  return bytes;
}

const DIRECTORY_FLAG = 2;

const rootRecord = (identifier: Uint8Array, madeAt: Instant): Uint8Array =>
  record(identifier, { sector: ROOT, bytes: SECTOR_BYTES, madeAt, flags: DIRECTORY_FLAG });

/** §9.1; of even length. */
function record(
  identifier: Uint8Array,
  extent: { readonly sector: number; readonly bytes: number; readonly madeAt: Instant; readonly flags: number },
): Uint8Array {
  const length = 33 + identifier.length + ((identifier.length + 1) % 2);
  const bytes = new Uint8Array(length);
  bytes[0] = length;
  bytes.set(both32(extent.sector), 2);
  bytes.set(both32(extent.bytes), 10);
  bytes.set(recordingTime(extent.madeAt), 18);
  bytes[25] = extent.flags;
  bytes.set(both16(1), 28);
  bytes[32] = identifier.length;
  bytes.set(identifier, 33);
  return bytes;
}

/** §9.1.5, in UTC. */
function recordingTime(at: Instant): Uint8Array {
  const time = new Date(at);
  const date = [time.getUTCFullYear() - 1900, time.getUTCMonth() + 1, time.getUTCDate()];
  return Uint8Array.of(...date, time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds(), 0);
}

const PATH_TABLE_BYTES = 10;

/** §9.4: one record, of the root directory, which is its own parent. */
const pathTable = (little: boolean): Uint8Array =>
  concatenated([Uint8Array.of(1, 0), number(ROOT, 4, little), number(1, 2, little), Uint8Array.of(0, 0)]);

/** §7.2.3 and §7.3.3: little endian, then big endian. */
const both16 = (value: number): Uint8Array => concatenated([number(value, 2, true), number(value, 2, false)]);
const both32 = (value: number): Uint8Array => concatenated([number(value, 4, true), number(value, 4, false)]);

function number(value: number, size: 2 | 4, little: boolean): Uint8Array {
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  if (size === 2) view.setUint16(0, value, little);
  else view.setUint32(0, value, little);
  return bytes;
}

const ascii = (characters: string): Uint8Array =>
  Uint8Array.from(characters, (character) => character.charCodeAt(0) & 0x7f);
const text = (characters: string, length: number): Uint8Array => ascii(characters.padEnd(length));

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
