// Encodes DER, the canonical encoding of ASN.1 values (ITU-T X.690 §8 and §10): tag, length, content.

import type { Instant } from '../../domain/instant.ts';

/** X.690 §8.1.2: the universal tags that certificates use; constructed ones include the constructed bit. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;

/** `[number]` of a CHOICE or an optional member: primitive, or constructed. */
export const contextTag = (number: number, constructed: boolean): number =>
  CONTEXT | number | (constructed ? CONSTRUCTED : 0);

export function element(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  const head = Uint8Array.of(tag, ...lengthBytes(length));
  const whole = new Uint8Array(head.length + length);
  whole.set(head);
  let at = head.length;
  for (const part of content) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const sequence = (...members: readonly Uint8Array[]): Uint8Array => element(TAG.sequence, ...members);
/** A set with one member, which needs no sorting (X.690 §11.6). */
export const setOf = (member: Uint8Array): Uint8Array => element(TAG.set, member);
export const octetString = (content: Uint8Array): Uint8Array => element(TAG.octetString, content);
export const boolean = (value: boolean): Uint8Array => element(TAG.boolean, Uint8Array.of(value ? 0xff : 0));
export const utf8String = (text: string): Uint8Array => element(TAG.utf8String, new TextEncoder().encode(text));
export const bitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array =>
  element(TAG.bitString, Uint8Array.of(unusedBits), bytes);

/** A non-negative big-endian number; leading zeros are removed. */
export function unsignedInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Uint8Array.of(0) : bytes.subarray(first);
  // Without this byte the first bit would make the number negative.
  const sign = (digits[0] ?? 0) >= 0x80 ? Uint8Array.of(0) : new Uint8Array();
  return element(TAG.integer, sign, digits);
}

/** X.690 §8.19: the first two arcs share a byte, the others are base 128. */
export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...arcs] = dotted.split('.').map(Number);
  return element(TAG.objectIdentifier, Uint8Array.from([first * 40 + second, ...arcs].flatMap(base128)));
}

/** RFC 5280 §4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050 on, both in seconds. */
export function time(at: Instant): Uint8Array {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
  const isLate = Number(digits.slice(0, 4)) >= 2050;
  const text = new TextEncoder().encode(isLate ? digits : digits.slice(2));
  return element(isLate ? TAG.generalizedTime : TAG.utcTime, text);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 0x100)) bytes.unshift(rest & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let rest = Math.floor(arc / 0x80); rest > 0; rest = Math.floor(rest / 0x80)) {
    bytes.unshift(0x80 | (rest & 0x7f));
  }
  return bytes;
}
