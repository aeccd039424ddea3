// Encodes a DHCP message: RFC 2131 §2, options in an order that PXE firmware and relays accept.
// `file` and `sname` are never overloaded: shim and U-Boot read the boot file name only from the header.

import { DhcpEncodeError } from './errors.ts';
import type { DhcpMessage } from './message.ts';
import { checkNumber, putIpv4, putLatin1 } from './option-values.ts';
import { OPTION } from './options.ts';
import {
  AT,
  BROADCAST_FLAG,
  CHADDR_BYTES,
  END,
  FILE_BYTES,
  MAGIC_COOKIE,
  MAX_HOPS,
  MAX_INSTANCE_BYTES,
  PAD,
  SNAME_BYTES,
} from './wire.ts';

export interface EncodedDhcp {
  readonly bytes: Uint8Array;
  /** Options that did not fit, in message order. */
  readonly dropped: readonly number[];
}

export interface EncodeLimits {
  /** The largest UDP payload that the client accepts. */
  readonly maxBytes: number;
  /** Allocates the output: zeroed memory of this length. Default: a new Uint8Array. */
  readonly memory?: (length: number) => Uint8Array;
}

/** RFC 1542 §2.1: relays and old firmware drop shorter messages. */
const MIN_BYTES = 300;

/**
 * When not everything fits, the order of `message.options` is the priority: an option is dropped when it does not fit
 * beside those before it. The essential options and option 82 have priority over all others.
 */
export function encodeDhcp(message: DhcpMessage, limits: EncodeLimits): EncodedDhcp {
  if (!Number.isInteger(limits.maxBytes) || limits.maxBytes < MIN_BYTES) {
    throw new DhcpEncodeError(
      'maxBytes',
      `${limits.maxBytes} is less than the minimum message size of ${MIN_BYTES} bytes`,
    );
  }
  const { options } = message;
  const room = limits.maxBytes - AT.options - END_BYTES;
  let size = 0;
  for (const [code, value] of options) {
    checkOption(code);
    size += wireSize(value);
  }
  let dropped: number[] = [];
  if (size > room) ({ dropped, size } = dropWhatDoesNotFit(options, room));

  const length = Math.max(MIN_BYTES, AT.options + size + END_BYTES);
  const bytes = limits.memory ? limits.memory(length) : new Uint8Array(length);
  writeHeader(bytes, message);
  const end = writeOptions(bytes, options, dropped);
  bytes[end] = END;
  return { bytes, dropped };
}

const END_BYTES = 1;

/** Without these options a reply is not a lease. */
const ESSENTIAL: readonly number[] = [OPTION.messageType, OPTION.serverIdentifier, OPTION.leaseTime, OPTION.subnetMask];

function dropWhatDoesNotFit(
  options: ReadonlyMap<number, Uint8Array>,
  room: number,
): { dropped: number[]; size: number } {
  let size = 0;
  for (const code of ESSENTIAL) size += sizeOf(options.get(code));
  if (size > room)
    throw new DhcpEncodeError('options', `the essential options need ${size} bytes, only ${room} are available`);

  // RFC 3046 §2.2: the relay agent option is dropped only when it does not fit, and then as a whole.
  const relaySize = sizeOf(options.get(OPTION.relayAgentInformation));
  const relayFits = size + relaySize <= room;
  if (relayFits) size += relaySize;

  const dropped: number[] = [];
  for (const [code, value] of options) {
    if (ESSENTIAL.includes(code)) continue;
    if (code === OPTION.relayAgentInformation) {
      if (!relayFits) dropped.push(code);
      continue;
    }
    const needed = wireSize(value);
    if (size + needed <= room) size += needed;
    else dropped.push(code);
  }
  return { dropped, size };
}

/**
 * 53 and 54 first, which some firmware expects; 67 after the rest, because EDK2 overwrites the byte after it when it is
 * not NUL-terminated; 82 last (RFC 3046 §2.1), where relays look for it.
 */
function writeOptions(bytes: Uint8Array, options: ReadonlyMap<number, Uint8Array>, dropped: readonly number[]): number {
  let at: number = AT.options;
  const put = (code: number): void => {
    const value = options.get(code);
    if (value !== undefined && !dropped.includes(code)) at = writeOption(bytes, at, code, value);
  };
  put(OPTION.messageType);
  put(OPTION.serverIdentifier);
  for (const [code, value] of options) {
    if (!PLACED.includes(code) && !dropped.includes(code)) at = writeOption(bytes, at, code, value);
  }
  put(OPTION.bootFileName);
  put(OPTION.relayAgentInformation);
  return at;
}

const PLACED: readonly number[] = [
  OPTION.messageType,
  OPTION.serverIdentifier,
  OPTION.bootFileName,
  OPTION.relayAgentInformation,
];

/** RFC 3396 §5: a long value becomes several instances, each directly after the previous one. */
function writeOption(bytes: Uint8Array, start: number, code: number, value: Uint8Array): number {
  let at = start;
  let from = 0;
  do {
    const length = Math.min(value.length - from, MAX_INSTANCE_BYTES);
    bytes[at] = code;
    bytes[at + 1] = length;
    // Most options are a few bytes long: a loop is faster than a call to copy.
    for (let index = 0; index < length; index++) bytes[at + 2 + index] = value[from + index] ?? 0;
    at += 2 + length;
    from += length;
  } while (from < value.length);
  return at;
}

const wireSize = (value: Uint8Array): number =>
  value.length <= MAX_INSTANCE_BYTES
    ? value.length + 2
    : value.length + 2 * Math.ceil(value.length / MAX_INSTANCE_BYTES);

const sizeOf = (value: Uint8Array | undefined): number => (value === undefined ? 0 : wireSize(value));

function checkOption(code: number): void {
  if (!Number.isInteger(code) || code <= PAD || code >= END) {
    throw new DhcpEncodeError(`option ${code}`, 'option codes are 1 to 254');
  }
  if (code === OPTION.overload) {
    throw new DhcpEncodeError('option 52', 'this encoder never overloads file and sname');
  }
}

function writeHeader(bytes: Uint8Array, message: DhcpMessage): void {
  checkNumber('htype', message.htype, 0xff);
  checkNumber('hlen', message.hlen, CHADDR_BYTES);
  checkNumber('hops', message.hops, MAX_HOPS);
  checkNumber('xid', message.xid, 0xffffffff);
  checkNumber('secs', message.secs, 0xffff);
  if (message.chaddr.length !== CHADDR_BYTES) {
    throw new DhcpEncodeError('chaddr', `needs ${CHADDR_BYTES} bytes, got ${message.chaddr.length}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  view.setUint8(AT.op, message.op === 'request' ? 1 : 2);
  view.setUint8(AT.htype, message.htype);
  view.setUint8(AT.hlen, message.hlen);
  view.setUint8(AT.hops, message.hops);
  view.setUint32(AT.xid, message.xid);
  view.setUint16(AT.secs, message.secs);
  view.setUint16(AT.flags, message.broadcast ? BROADCAST_FLAG : 0);
  putIpv4(bytes, AT.ciaddr, message.ciaddr, 'ciaddr');
  putIpv4(bytes, AT.yiaddr, message.yiaddr, 'yiaddr');
  putIpv4(bytes, AT.siaddr, message.siaddr, 'siaddr');
  putIpv4(bytes, AT.giaddr, message.giaddr, 'giaddr');
  bytes.set(message.chaddr, AT.chaddr);
  putTerminated(bytes, AT.sname, message.sname, SNAME_BYTES, 'sname');
  putTerminated(bytes, AT.file, message.file, FILE_BYTES, 'file');
  view.setUint32(AT.cookie, MAGIC_COOKIE);
}

function putTerminated(bytes: Uint8Array, at: number, text: string, size: number, field: string): void {
  if (text.length >= size) {
    throw new DhcpEncodeError(field, `holds at most ${size - 1} characters and a NUL, got ${text.length} characters`);
  }
  putLatin1(bytes, at, text, field);
}
