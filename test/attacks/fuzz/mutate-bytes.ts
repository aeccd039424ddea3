// Mutations of bytes without knowledge of their format, and of formats made of types, lengths and values.

import type { Random } from './random.ts';

/** Boundary values, and bytes that mean something in DHCP, TFTP, IPMI and DER. */
const TELLING: readonly [number, ...number[]] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x20, 0x2f, 0x30, 0x31, 43, 52, 53, 67, 77, 0x7f, 0x80, 0x81, 0x82, 0x84, 97, 175,
  254, 255,
];

export type Mutate = (bytes: Uint8Array, random: Random) => Uint8Array;

/** One change of a copy. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length);
  const count = 1 + random.below(Math.min(16, bytes.length));
  switch (random.below(8)) {
    case 0: // a bit
      return replaced(bytes, at, (bytes[at] ?? 0) ^ (1 << random.below(8)));
    case 1: // a byte
      return replaced(bytes, at, random.below(256));
    case 2:
      return replaced(bytes, at, random.oneOf(TELLING));
    case 3: // cut off
      return bytes.slice(0, at);
    case 4: // left out
      return joined(bytes.subarray(0, at), bytes.subarray(at + count));
    case 5: // repeated
      return joined(bytes.subarray(0, at + count), bytes.subarray(at));
    case 6: // inserted
      return joined(bytes.subarray(0, at), noise(random, count), bytes.subarray(at));
    default: // a run of one value
      return bytes.slice().fill(random.oneOf(TELLING), at, at + count);
  }
}

/** Several changes, the first of which is made with knowledge of the format where there is one. */
export function mutated(bytes: Uint8Array, random: Random, aware: Mutate | null = null): Uint8Array {
  let result = aware !== null && random.below(2) === 0 ? aware(bytes, random) : mutateBytes(bytes, random);
  for (let more = random.below(4); more > 0; more -= 1) result = mutateBytes(result, random);
  return result;
}

/** The beginning of one sample and the end of another. */
export function spliced(one: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  return joined(one.subarray(0, random.below(one.length)), other.subarray(random.below(other.length)));
}

/** DHCP options from the magic cookie on: one of them gets another code, length or place. */
export function mutateDhcpOptions(packet: Uint8Array, random: Random): Uint8Array {
  const options = dhcpOptions(packet);
  const chosen = options[random.below(options.length)];
  if (chosen === undefined) return mutateBytes(packet, random);
  const { at, end } = chosen;
  switch (random.below(5)) {
    case 0:
      return replaced(packet, at, random.below(256));
    case 1:
      return replaced(packet, at + 1, random.oneOf(TELLING));
    case 2: // twice: RFC 3396 joins them
      return joined(packet.subarray(0, end), packet.subarray(at, end), packet.subarray(end));
    case 3:
      return joined(packet.subarray(0, at), packet.subarray(end));
    default: {
      const other = options[random.below(options.length)] ?? chosen;
      const value = packet.subarray(other.at + 2, other.end);
      return joined(packet.subarray(0, at), Uint8Array.of(packet[at] ?? 0, value.length), value, packet.subarray(end));
    }
  }
}

const COOKIE_END = 240;

function dhcpOptions(packet: Uint8Array): { readonly at: number; readonly end: number }[] {
  const found: { at: number; end: number }[] = [];
  for (let at = COOKIE_END; at < packet.length && packet[at] !== 255; ) {
    if (packet[at] === 0) {
      at += 1;
      continue;
    }
    const end = at + 2 + (packet[at + 1] ?? 0);
    if (end > packet.length) break;
    found.push({ at, end });
    at = end;
  }
  return found;
}

/** One element of DER gets another tag, length or content, with its own length corrected or not. */
export function mutateDer(der: Uint8Array, random: Random): Uint8Array {
  const elements = derElements(der, 0, der.length);
  const chosen = elements[random.below(elements.length)];
  if (chosen === undefined) return mutateBytes(der, random);
  const { at, content, end } = chosen;
  switch (random.below(5)) {
    case 0:
      return replaced(der, at, random.oneOf(TELLING));
    case 1:
      return replaced(der, at + 1, random.oneOf(TELLING));
    case 2: // a length of four bytes
      return joined(
        der.subarray(0, at + 1),
        Uint8Array.of(0x84, random.below(256), 0xff, 0xff, 0xff),
        der.subarray(content),
      );
    case 3:
      return joined(der.subarray(0, end), der.subarray(at, end), der.subarray(end));
    default: {
      const other = elements[random.below(elements.length)] ?? chosen;
      return joined(der.subarray(0, at), der.subarray(other.at, other.end), der.subarray(end));
    }
  }
}

interface DerElementAt {
  readonly at: number;
  readonly content: number;
  readonly end: number;
}

function derElements(der: Uint8Array, from: number, to: number): DerElementAt[] {
  const found: DerElementAt[] = [];
  for (let at = from; at + 2 <= to; ) {
    const first = der[at + 1] ?? 0;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    if (lengthBytes > 2) break;
    let length = lengthBytes === 0 ? first : 0;
    for (let n = 0; n < lengthBytes; n += 1) length = length * 256 + (der[at + 2 + n] ?? 0);
    const content = at + 2 + lengthBytes;
    const end = content + length;
    if (end > to) break;
    found.push({ at, content, end });
    // Constructed.
    if (((der[at] ?? 0) & 0x20) !== 0) found.push(...derElements(der, content, end));
    at = end;
  }
  return found;
}

function replaced(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = bytes.slice();
  if (at < copy.length) copy[at] = value;
  return copy;
}

const noise = (random: Random, count: number): Uint8Array =>
  Uint8Array.from({ length: count }, () => random.below(256));

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
