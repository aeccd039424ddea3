// Option values (RFC 2132 §2): numbers are big-endian, text is bytes without a terminator.
// Readers parse what a peer sent and report what is wrong with it; writers reject values that cannot be encoded.

import { type Ipv4, ipv4FromBytes } from '../../domain/ipv4.ts';
import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';
import { DhcpEncodeError } from './errors.ts';

export const readU8 = (value: Uint8Array): Parsed<number> => readNumber(value, 1);
export const readU16 = (value: Uint8Array): Parsed<number> => readNumber(value, 2);
export const readU32 = (value: Uint8Array): Parsed<number> => readNumber(value, 4);
export const readIpv4 = ipv4FromBytes;

export function readIpv4List(value: Uint8Array): Parsed<Ipv4[]> {
  if (value.length === 0 || value.length % 4 !== 0) {
    return unparsable(`the length of a list of IPv4 addresses is a multiple of 4 bytes, got ${value.length}`);
  }
  const addresses: Ipv4[] = [];
  for (let at = 0; at < value.length; at += 4) addresses.push(addressAt(value, at));
  return parsed(addresses);
}

/** Latin-1, because any bytes may arrive. Trailing NULs are removed: RFC 2132 §2 tells receivers to trim them. */
export function readText(value: Uint8Array): string {
  let length = value.length;
  while (length > 0 && value[length - 1] === 0) length--;
  return latin1(value, 0, length);
}

export function latin1(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}

export const writeU8 = (number: number): Uint8Array => writeNumber(number, 1);
export const writeU16 = (number: number): Uint8Array => writeNumber(number, 2);
export function writeU32(number: number): Uint8Array {
  checkNumber('4-byte number', number, 0xffffffff);
  return Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
}

export function writeIpv4(address: Ipv4): Uint8Array {
  const bytes = new Uint8Array(4);
  putIpv4(bytes, 0, address, 'IPv4 address');
  return bytes;
}

export function writeIpv4List(addresses: readonly Ipv4[]): Uint8Array {
  const bytes = new Uint8Array(addresses.length * 4);
  for (const [index, address] of addresses.entries()) putIpv4(bytes, index * 4, address, 'IPv4 address');
  return bytes;
}

export function writeText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  putLatin1(bytes, 0, text, 'text');
  return bytes;
}

/** Adds a NUL: EDK2 overwrites the byte after option 67 with one, and old PXE ROMs read past the end without it. */
export function writeTerminatedText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length + 1);
  putLatin1(bytes, 0, text, 'text');
  return bytes;
}

export function putLatin1(bytes: Uint8Array, at: number, text: string, field: string): void {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0 || code > 255) {
      throw new DhcpEncodeError(field, `character ${index} (code ${code}) is not Latin-1 text`);
    }
    bytes[at + index] = code;
  }
}

/** Parses the characters directly: every reply has four addresses, and splitting the text would dominate the cost. */
export function putIpv4(bytes: Uint8Array, at: number, address: Ipv4, field: string): void {
  if (address === UNSET) {
    bytes.fill(0, at, at + 4);
    return;
  }
  let octet = -1;
  let index = 0;
  for (let position = 0; position <= address.length; position++) {
    const code = position === address.length ? DOT : address.charCodeAt(position);
    if (code === DOT) {
      if (octet < 0 || octet > 255 || index > 3)
        throw new DhcpEncodeError(field, `not an IPv4 address: ${shown(address)}`);
      bytes[at + index++] = octet;
      octet = -1;
    } else {
      if (code < ZERO || code > ZERO + 9) throw new DhcpEncodeError(field, `not an IPv4 address: ${shown(address)}`);
      octet = Math.max(octet, 0) * 10 + code - ZERO;
    }
  }
  if (index !== 4) throw new DhcpEncodeError(field, `not an IPv4 address: ${shown(address)}`);
}

const DOT = 0x2e;
const ZERO = 0x30;

/** Most header addresses are unset; returning the constant avoids formatting them. */
export function addressAt(bytes: Uint8Array, at: number): Ipv4 {
  const a = bytes[at];
  const b = bytes[at + 1];
  const c = bytes[at + 2];
  const d = bytes[at + 3];
  return a === 0 && b === 0 && c === 0 && d === 0 ? UNSET : (`${a}.${b}.${c}.${d}` as Ipv4);
}

const UNSET = '0.0.0.0' as Ipv4;

function readNumber(value: Uint8Array, size: number): Parsed<number> {
  if (value.length !== size) return unparsable(`a ${size}-byte number expected, got a length of ${value.length}`);
  let number = 0;
  for (const byte of value) number = number * 256 + byte;
  return parsed(number);
}

function writeNumber(number: number, size: number): Uint8Array {
  checkNumber(`${size}-byte number`, number, 256 ** size - 1);
  const bytes = new Uint8Array(size);
  let rest = number;
  for (let at = size - 1; at >= 0; at--) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

export function checkNumber(field: string, number: number, max: number): void {
  if (!Number.isInteger(number) || number < 0 || number > max) {
    throw new DhcpEncodeError(field, `${number} is not a whole number from 0 to ${max}`);
  }
}
