// Reads and writes bytes. IPMI is little-endian throughout (v2.0 §1.6), except for the ASF ping.

import { IpmiDecodeError, IpmiEncodeError } from './errors.ts';

/** Reads forward; when the bytes end early, the error names the missing field. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #offset: number;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  bytes(count: number, field: string): Uint8Array {
    if (this.remaining < count) {
      throw new IpmiDecodeError(field, this.#offset, `needs ${count} bytes, ${this.remaining} are left`);
    }
    const taken = this.#bytes.subarray(this.#offset, this.#offset + count);
    this.#offset += count;
    return taken;
  }

  rest(): Uint8Array {
    return this.bytes(this.remaining, 'rest');
  }

  uint8(field: string): number {
    return this.#littleEndian(1, field);
  }

  uint16(field: string): number {
    return this.#littleEndian(2, field);
  }

  uint24(field: string): number {
    return this.#littleEndian(3, field);
  }

  uint32(field: string): number {
    return this.#littleEndian(4, field);
  }

  /** Reads a byte that must have this value. */
  expect(value: number, field: string): void {
    const offset = this.#offset;
    const found = this.uint8(field);
    if (found !== value) throw new IpmiDecodeError(field, offset, `is ${hexByte(found)}, not ${hexByte(value)}`);
  }

  #littleEndian(count: number, field: string): number {
    const bytes = this.bytes(count, field);
    let value = 0;
    for (let at = count - 1; at >= 0; at--) value = value * 0x100 + (bytes[at] ?? 0);
    return value;
  }
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const uint16Bytes = (value: number): Uint8Array => Uint8Array.of(value & 0xff, (value >>> 8) & 0xff);

export const uint32Bytes = (value: number): Uint8Array =>
  Uint8Array.of(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff);

/** Pads with zeros, which is how IPMI stores names, passwords and keys. */
export function zeroPadded(bytes: Uint8Array, length: number, field: string): Uint8Array {
  if (bytes.length > length) throw new IpmiEncodeError(field, `has ${bytes.length} bytes, at most ${length} fit`);
  const padded = new Uint8Array(length);
  padded.set(bytes);
  return padded;
}

export const hexByte = (value: number): string => `0x${value.toString(16).padStart(2, '0')}`;
