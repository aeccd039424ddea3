// Options encapsulated in an option: code, length, value, as in the message itself. The encapsulations differ in whether
// 0 and 255 are ordinary codes: in 43 (RFC 2132 §8.4) and 175 (iPXE) they are PAD and END; 82 (RFC 3046 §2.0) has
// neither.

import { DhcpEncodeError } from './errors.ts';
import { END, MAX_INSTANCE_BYTES, PAD } from './wire.ts';

type Encapsulation = 'with-pad-and-end' | 'codes-only';

export interface SubOptions {
  readonly values: ReadonlyMap<number, Uint8Array>;
  /** What could not be parsed; the sub-options before it are valid. */
  readonly damage: string | null;
}

export function readSubOptions(value: Uint8Array, encapsulation: Encapsulation): SubOptions {
  const values = new Map<number, Uint8Array>();
  const padded = encapsulation === 'with-pad-and-end';
  let damage: string | null = null;
  let at = 0;
  while (at < value.length) {
    const code = value[at] ?? END;
    if (padded && code === END) break;
    if (padded && code === PAD) {
      at++;
      continue;
    }
    const length = value[at + 1];
    const next = at + 2 + (length ?? 0);
    if (length === undefined || next > value.length) {
      return { values, damage: `sub-option ${code} at byte ${at} extends past the end` };
    }
    if (values.has(code)) damage ??= `sub-option ${code} at byte ${at} is a duplicate: the first one is used`;
    else values.set(code, value.subarray(at + 2, next));
    at = next;
  }
  return { values, damage };
}

export function writeSubOptions(values: ReadonlyMap<number, Uint8Array>, encapsulation: Encapsulation): Uint8Array {
  const padded = encapsulation === 'with-pad-and-end';
  let size = padded ? 1 : 0;
  for (const [code, value] of values) {
    checkSubOption(code, value, padded);
    size += 2 + value.length;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const [code, value] of values) {
    bytes[at] = code;
    bytes[at + 1] = value.length;
    bytes.set(value, at + 2);
    at += 2 + value.length;
  }
  if (padded) bytes[at] = END;
  return bytes;
}

function checkSubOption(code: number, value: Uint8Array, padded: boolean): void {
  const reserved = padded && (code === PAD || code === END);
  if (!Number.isInteger(code) || code < 0 || code > 255 || reserved) {
    throw new DhcpEncodeError(`sub-option ${code}`, 'this code is not valid in this encapsulation');
  }
  if (value.length > MAX_INSTANCE_BYTES) {
    throw new DhcpEncodeError(`sub-option ${code}`, `holds at most 255 bytes, got ${value.length}`);
  }
}
