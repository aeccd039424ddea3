// Options that describe the client: identifier, user classes, architecture, network interface.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { latin1 } from './option-values.ts';

interface ClientIdentifier {
  /** RFC 2132 §9.14: a hardware type (1: Ethernet), 0 for anything else, 255 for IAID and DUID (RFC 4361 §6.1). */
  readonly type: number;
  readonly identifier: Uint8Array;
}

export function readClientIdentifier(value: Uint8Array): Parsed<ClientIdentifier> {
  if (value.length < 2) return unparsable(`a client identifier needs at least 2 bytes, got ${value.length}`);
  return parsed({ type: value[0] ?? 0, identifier: value.subarray(1) });
}

/**
 * Option 77 in both encodings. RFC 3004 §4 prefixes each class with its length, which ONIE does; iPXE sends the bare
 * text. The value is read as RFC 3004 only when its lengths add up exactly to the end of the option.
 */
export function readUserClasses(value: Uint8Array): string[] {
  if (value.length === 0) return [];
  const classes: string[] = [];
  let at = 0;
  while (at < value.length) {
    const length = value[at] ?? 0;
    const next = at + 1 + length;
    if (length === 0 || next > value.length) return [latin1(value, 0, value.length)];
    classes.push(latin1(value, at + 1, next));
    at = next;
  }
  return classes;
}

/** Option 93 (RFC 4578 §2.1): a list, most preferred first. `domain/architecture.ts` names the numbers. */
export function readArchitectures(value: Uint8Array): Parsed<number[]> {
  if (value.length === 0 || value.length % 2 !== 0) {
    return unparsable(`a list of architectures needs an even, non-zero number of bytes, got ${value.length}`);
  }
  const codes: number[] = [];
  for (let at = 0; at < value.length; at += 2) codes.push((value[at] ?? 0) * 256 + (value[at + 1] ?? 0));
  return parsed(codes);
}

interface NetworkInterfaceVersion {
  /** 1: UNDI; nothing else is defined. */
  readonly type: number;
  readonly major: number;
  readonly minor: number;
}

/** Option 94 (RFC 4578 §2.2). */
export function readNetworkInterface(value: Uint8Array): Parsed<NetworkInterfaceVersion> {
  if (value.length !== 3) return unparsable(`a network interface needs 3 bytes, got ${value.length}`);
  const [type = 0, major = 0, minor = 0] = value;
  return parsed({ type, major, minor });
}
