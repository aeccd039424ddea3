// IPv4 addresses, prefixes and ranges. An address is kept as its canonical dotted quad.

import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

export type Ipv4 = Branded<string, 'Ipv4'>;

export interface Prefix {
  readonly network: Ipv4;
  readonly length: number;
}

export interface Ipv4Range {
  readonly from: Ipv4;
  readonly to: Ipv4;
}

const QUAD = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Leading zeros are rejected: 010.0.0.1 is 8.0.0.1 to some programs and 10.0.0.1 to others. */
export function parseIpv4(text: string): Parsed<Ipv4> {
  return QUAD.test(text) ? parsed(text as Ipv4) : unparsable(`not an IPv4 address: ${shown(text)}`);
}

export function ipv4FromBytes(bytes: Uint8Array): Parsed<Ipv4> {
  if (bytes.length !== 4) return unparsable(`an IPv4 address has 4 bytes, this has ${bytes.length}`);
  return parsed(`${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}` as Ipv4);
}

export function ipv4ToNumber(address: Ipv4): number {
  let number = 0;
  let octet = 0;
  for (let at = 0; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code === DOT) {
      number = number * 256 + octet;
      octet = 0;
    } else octet = octet * 10 + code - ZERO;
  }
  return number * 256 + octet;
}

const DOT = 0x2e;
const ZERO = 0x30;

export function ipv4FromNumber(number: number): Ipv4 {
  const n = number >>> 0;
  return `${n >>> 24}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}` as Ipv4;
}

export function parsePrefix(text: string): Parsed<Prefix> {
  const [address, length, ...rest] = text.split('/');
  if (address === undefined || length === undefined || rest.length > 0 || !/^(0|[1-9]\d?)$/.test(length)) {
    return unparsable(`not an IPv4 prefix (like 10.0.100.0/24): ${shown(text)}`);
  }
  const network = parseIpv4(address);
  if (!network.ok) return network;
  const bits = Number(length);
  if (bits > 32) return unparsable(`a prefix length is at most 32: ${shown(text)}`);
  const first = ipv4FromNumber(ipv4ToNumber(network.value) & maskNumber(bits));
  if (first !== network.value) {
    return unparsable(`has host bits set: ${shown(text)}; write ${first}/${bits}`);
  }
  return parsed({ network: network.value, length: bits });
}

export const prefixText = (prefix: Prefix): string => `${prefix.network}/${prefix.length}`;
export const netmask = (prefix: Prefix): Ipv4 => ipv4FromNumber(maskNumber(prefix.length));
export const broadcastAddress = (prefix: Prefix): Ipv4 =>
  ipv4FromNumber((ipv4ToNumber(prefix.network) | (~maskNumber(prefix.length) >>> 0)) >>> 0);

export const contains = (prefix: Prefix, address: Ipv4): boolean =>
  (ipv4ToNumber(address) & maskNumber(prefix.length)) >>> 0 === ipv4ToNumber(prefix.network);

/** True for an address that a machine can have: neither the network address nor the broadcast address (RFC 3021 exempts /31). */
export function isHostAddress(prefix: Prefix, address: Ipv4): boolean {
  if (!contains(prefix, address)) return false;
  const hostBits = ~maskNumber(prefix.length) >>> 0;
  const host = (ipv4ToNumber(address) & hostBits) >>> 0;
  return prefix.length >= 31 || (host !== 0 && host !== hostBits);
}

/** Not "this network", loopback, multicast or the limited broadcast address (RFC 6890, RFC 1112 §4). */
export const isUnicast = (address: Ipv4): boolean => {
  const first = Math.floor(ipv4ToNumber(address) / 2 ** 24);
  return first > 0 && first !== 127 && first < 224;
};

export const overlaps = (a: Prefix, b: Prefix): boolean =>
  a.length <= b.length ? contains(a, b.network) : contains(b, a.network);

export const inRange = (range: Ipv4Range, address: Ipv4): boolean => {
  const n = ipv4ToNumber(address);
  return n >= ipv4ToNumber(range.from) && n <= ipv4ToNumber(range.to);
};

export const rangeSize = (range: Ipv4Range): number => ipv4ToNumber(range.to) - ipv4ToNumber(range.from) + 1;

function maskNumber(length: number): number {
  return length === 0 ? 0 : (0xffffffff << (32 - length)) >>> 0;
}
