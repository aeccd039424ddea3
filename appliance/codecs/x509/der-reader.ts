// Reads strict DER: lengths in the shortest form, no trailing bytes. Everything that only BER allows is rejected, because
// two readers of the same bytes must never see two different values.

import { TAG } from './der.ts';

/** The bytes are malformed. */
export class DerError extends Error {
  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'DerError';
  }
}

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Including tag and length: the input of a signature. */
  readonly whole: Uint8Array;
}

/** Reads one element; rejects trailing bytes. */
export function readOnly(bytes: Uint8Array, tag: number, field: string): DerElement {
  const reader = new DerReader(bytes, field);
  const element = reader.next(tag, field);
  reader.end();
  return element;
}

/** Reads the members of a constructed value in order. */
export class DerReader {
  readonly #bytes: Uint8Array;
  readonly #field: string;
  #at = 0;

  constructor(bytes: Uint8Array, field: string) {
    this.#bytes = bytes;
    this.#field = field;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  next(tag: number, field: string): DerElement {
    const element = this.any(field);
    if (element.tag === tag) return element;
    throw new DerError(field, `has tag ${hex(element.tag)}, not ${hex(tag)}`);
  }

  any(field: string): DerElement {
    const start = this.#at;
    const tag = this.#byte(field);
    // Tag numbers from 31 on take more bytes; no structure that we read uses them.
    if ((tag & 0x1f) === 0x1f) throw new DerError(field, 'has a tag of several bytes');
    const length = this.#length(field);
    if (length > this.#bytes.length - this.#at) {
      throw new DerError(field, `has a length of ${length} bytes, only ${this.#bytes.length - this.#at} are left`);
    }
    const content = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return { tag, content, whole: this.#bytes.subarray(start, this.#at) };
  }

  end(): void {
    if (!this.isAtEnd) throw new DerError(this.#field, `has ${this.#bytes.length - this.#at} trailing bytes`);
  }

  #byte(field: string): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new DerError(field, 'is missing');
    return byte;
  }

  #length(field: string): number {
    const first = this.#byte(field);
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError(field, 'has an invalid DER length');
    let length = 0;
    for (let n = 0; n < count; n++) length = length * 0x100 + this.#byte(field);
    if (length < 0x80 || length < 0x100 ** (count - 1)) {
      throw new DerError(field, 'has a length that is not in its shortest form');
    }
    return length;
  }
}

export const membersOf = ({ content }: DerElement, field: string): DerReader => new DerReader(content, field);

export function readObjectIdentifier({ tag, content }: DerElement, field: string): string {
  if (tag !== TAG.objectIdentifier || content.length === 0 || (content.at(-1) ?? 0x80) >= 0x80) {
    throw new DerError(field, 'is not an object identifier');
  }
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    if (arc === 0 && byte === 0x80) throw new DerError(field, 'has an arc that is not in its shortest form');
    arc = arc * 0x80 + (byte & 0x7f);
    if (arc > Number.MAX_SAFE_INTEGER / 0x80) throw new DerError(field, 'has an arc that is too large');
    if (byte >= 0x80) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [head = 0, ...rest] = arcs;
  const first = Math.min(Math.floor(head / 40), 2);
  return [first, head - first * 40, ...rest].join('.');
}

/** Signatures and keys are a whole number of bytes. */
export function readWholeBytes({ content }: DerElement, field: string): Uint8Array {
  if (content[0] !== 0) throw new DerError(field, 'is not a whole number of bytes');
  return content.subarray(1);
}

const hex = (value: number): string => `0x${value.toString(16).padStart(2, '0')}`;
