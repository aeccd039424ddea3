// Reads 64-bit little-endian ELF files: the libraries a program needs, its dynamic loader, and a kernel module's `.modinfo`.
// Parsed here because the files may be for another processor, so they cannot be run.
//
// System V ABI, chapters 4 and 5.

import { ColdironError } from '../../domain/errors.ts';

export interface ElfNeeds {
  /** The dynamic loader, an absolute path; null: linked statically, or a library. */
  readonly loader: string | null;
  /** By soname: libc.so.6. */
  readonly libraries: readonly string[];
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1;
const DT_STRTAB = 5;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

export const isElf = (bytes: Buffer): boolean => bytes.length > 64 && bytes.toString('latin1', 0, 4) === '\x7fELF';

export function elfNeeds(bytes: Buffer, name: string): ElfNeeds {
  require64Bit(bytes, name);
  const segments = segmentsOf(bytes);
  const of = (type: number): Segment | undefined => segments.find((segment) => segment.type === type);
  const interpreter = of(PT_INTERP);
  const dynamic = of(PT_DYNAMIC);
  return {
    loader: interpreter ? textAt(bytes, interpreter.offset) : null,
    libraries: dynamic ? neededBy(bytes, dynamic, segments, name) : [],
  };
}

/** `key=value` pairs in file order; a key may repeat (alias). */
export function moduleInfo(bytes: Buffer, name: string): readonly (readonly [string, string])[] {
  require64Bit(bytes, name);
  const section = sectionNamed(bytes, '.modinfo');
  if (section === null) throw new ColdironError('service_unavailable', `${name} is not a kernel module`);
  return section
    .toString('utf8')
    .split('\0')
    .filter((text) => text.includes('='))
    .map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)] as const);
}

function require64Bit(bytes: Buffer, name: string): void {
  if (!isElf(bytes) || bytes[4] !== 2 || bytes[5] !== 1) {
    throw new ColdironError('service_unavailable', `${name} is not a 64-bit little-endian ELF file`);
  }
}

function segmentsOf(bytes: Buffer): readonly Segment[] {
  const start = wide(bytes, 0x20);
  const size = bytes.readUInt16LE(0x36);
  return Array.from({ length: bytes.readUInt16LE(0x38) }, (_, index) => {
    const at = start + index * size;
    return {
      type: bytes.readUInt32LE(at),
      offset: wide(bytes, at + 0x08),
      address: wide(bytes, at + 0x10),
      size: wide(bytes, at + 0x20),
    };
  });
}

function neededBy(bytes: Buffer, dynamic: Segment, segments: readonly Segment[], name: string): readonly string[] {
  const needed: number[] = [];
  let strings: number | null = null;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const tag = wide(bytes, at);
    if (tag === DT_NEEDED) needed.push(wide(bytes, at + 8));
    if (tag === DT_STRTAB) strings = offsetOf(wide(bytes, at + 8), segments);
  }
  if (needed.length === 0) return [];
  if (strings === null)
    throw new ColdironError(
      'service_unavailable',
      `${name} has no string table (DT_STRTAB) for the names of its libraries`,
    );
  const table = strings;
  return needed.map((at) => textAt(bytes, table + at));
}

/** Converts an address in memory to an offset in the file. */
function offsetOf(address: number, segments: readonly Segment[]): number | null {
  const inside = ({ type, address: start, size }: Segment): boolean =>
    type === PT_LOAD && address >= start && address < start + size;
  const segment = segments.find(inside);
  return segment ? address - segment.address + segment.offset : null;
}

function sectionNamed(bytes: Buffer, sectionName: string): Buffer | null {
  const start = wide(bytes, 0x28);
  const size = bytes.readUInt16LE(0x3a);
  const count = bytes.readUInt16LE(0x3c);
  const names = wide(bytes, start + bytes.readUInt16LE(0x3e) * size + 0x18);
  for (let at = start; at < start + count * size; at += size) {
    if (textAt(bytes, names + bytes.readUInt32LE(at)) !== sectionName) continue;
    const offset = wide(bytes, at + 0x18);
    return bytes.subarray(offset, offset + wide(bytes, at + 0x20));
  }
  return null;
}

/** Offsets in files that fit into memory are exact as a number. */
const wide = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

const textAt = (bytes: Buffer, at: number): string => bytes.toString('utf8', at, bytes.indexOf(0, at));
