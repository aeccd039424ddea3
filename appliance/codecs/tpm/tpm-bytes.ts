// TPM 2.0 Library Part 2: marshaled structures. Big-endian; a TPM2B is a 16-bit size and that many bytes.

/** The bytes are malformed, or name something that this codec does not support. */
export class TpmFormatError extends Error {
  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'TpmFormatError';
  }
}

/** Reads forward; when the bytes end early, the error names the missing field. */
export class TpmReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  bytes(count: number, field: string): Buffer {
    const left = this.#bytes.length - this.#offset;
    if (left < count) throw new TpmFormatError(field, `needs ${count} bytes, only ${left} are left`);
    const taken = this.#bytes.subarray(this.#offset, this.#offset + count);
    this.#offset += count;
    return taken;
  }

  uint8(field: string): number {
    return this.bytes(1, field).readUInt8();
  }

  uint16(field: string): number {
    return this.bytes(2, field).readUInt16BE();
  }

  uint32(field: string): number {
    return this.bytes(4, field).readUInt32BE();
  }

  uint64(field: string): bigint {
    return this.bytes(8, field).readBigUInt64BE();
  }

  /** A TPM2B: its content, of at most `limit` bytes. */
  sized(limit: number, field: string): Buffer {
    const size = this.uint16(field);
    if (size > limit) throw new TpmFormatError(field, `has ${size} bytes, at most ${limit} are allowed`);
    return this.bytes(size, field);
  }

  end(): void {
    const left = this.#bytes.length - this.#offset;
    if (left > 0) throw new TpmFormatError('end', `${left} bytes follow the structure`);
  }
}

export function uint16Bytes(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function uint32Bytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A TPM2B with this content. */
export const sizedBytes = (content: Uint8Array): Buffer => Buffer.concat([uint16Bytes(content.length), content]);

/** TPMs omit leading zeros of numbers, or not. */
export function leftPadded(bytes: Uint8Array, length: number, field: string): Buffer {
  if (bytes.length > length)
    throw new TpmFormatError(field, `has ${bytes.length} bytes, at most ${length} are allowed`);
  return Buffer.concat([Buffer.alloc(length - bytes.length), bytes]);
}

export const hexWord = (value: number): string => `0x${value.toString(16).padStart(4, '0')}`;
