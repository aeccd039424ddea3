// Decodes TFTP packets (RFC 1350 §5, RFC 2347). Strict about what a transfer depends on, lenient where real clients
// deviate without effect.

import { shown } from '../../domain/parsed.ts';
import { OPCODES, TFTP_MODES, type TftpMode, type TftpOptions, type TftpPacket } from './packet.ts';

/** The only error of the decoder: which field is wrong, and at which offset. */
export class TftpDecodeError extends Error {
  readonly field: string;
  readonly offset: number;

  constructor(field: string, offset: number, problem: string) {
    super(`${field} at byte ${offset}: ${problem}`);
    this.name = 'TftpDecodeError';
    this.field = field;
    this.offset = offset;
  }
}

/** Far above what any boot client sends (RFC 2347 limits requests to 512 bytes), and low enough to be harmless. */
const MAX_BYTES = { 'file name': 512, mode: 16, 'option name': 64, 'option value': 64 } as const;
const MAX_OPTIONS = 16;
/** A longer message is truncated, not rejected: the ERROR is still valid. */
const MAX_MESSAGE_BYTES = 256;

export function decodeTftp(bytes: Uint8Array): TftpPacket {
  const opcode = uint16(bytes, 0, 'opcode');
  switch (opcode) {
    case OPCODES.ack:
      // Bytes after the block number are padding.
      return { op: 'ack', block: uint16(bytes, 2, 'block') };
    case OPCODES.data:
      return { op: 'data', block: uint16(bytes, 2, 'block'), payload: bytes.subarray(4) };
    case OPCODES.read:
    case OPCODES.write:
      return decodeRequest(bytes, opcode === OPCODES.read ? 'read' : 'write');
    case OPCODES.error:
      return { op: 'error', code: uint16(bytes, 2, 'error code'), message: decodeMessage(bytes) };
    case OPCODES.optionAck:
      return { op: 'optionAck', options: decodeOptions(bytes, 2) };
    default:
      throw new TftpDecodeError('opcode', 0, `not a TFTP opcode: ${opcode}`);
  }
}

function decodeRequest(bytes: Uint8Array, op: 'read' | 'write'): TftpPacket {
  const fileName = terminated(bytes, 2, 'file name');
  const mode = terminated(bytes, fileName.next, 'mode');
  return {
    op,
    fileName: fileName.text,
    mode: knownMode(mode.text, fileName.next),
    options: decodeOptions(bytes, mode.next),
  };
}

function knownMode(text: string, offset: number): TftpMode {
  const lower = text.toLowerCase();
  const known = TFTP_MODES.find((mode) => mode === lower);
  if (!known) throw new TftpDecodeError('mode', offset, `not one of ${TFTP_MODES.join(', ')}: ${shown(text)}`);
  return known;
}

/** Of two options with the same name the first wins. */
function decodeOptions(bytes: Uint8Array, start: number): TftpOptions {
  const options = new Map<string, string>();
  let at = start;
  // An empty name ends the list: some clients send their whole zeroed buffer.
  while (at < bytes.length && bytes[at] !== 0) {
    if (options.size === MAX_OPTIONS) throw new TftpDecodeError('options', at, `more than ${MAX_OPTIONS}`);
    const name = terminated(bytes, at, 'option name');
    const value = terminated(bytes, name.next, 'option value');
    const key = name.text.toLowerCase();
    if (!options.has(key)) options.set(key, value.text);
    at = value.next;
  }
  return options;
}

/** The terminator may be missing: the ERROR of such a client is still accepted. */
function decodeMessage(bytes: Uint8Array): string {
  const end = bytes.indexOf(0, 4);
  return decodeText(bytes.subarray(4, Math.min(end < 0 ? bytes.length : end, 4 + MAX_MESSAGE_BYTES)));
}

function terminated(bytes: Uint8Array, start: number, field: keyof typeof MAX_BYTES): { text: string; next: number } {
  const end = bytes.indexOf(0, start);
  if (end < 0) throw new TftpDecodeError(field, start, 'not terminated by a zero byte');
  if (end - start > MAX_BYTES[field]) {
    throw new TftpDecodeError(field, start, `${end - start} bytes, more than ${MAX_BYTES[field]}`);
  }
  return { text: decodeText(bytes.subarray(start, end)), next: end + 1 };
}

function uint16(bytes: Uint8Array, offset: number, field: string): number {
  const high = bytes[offset];
  const low = bytes[offset + 1];
  if (high === undefined || low === undefined) {
    throw new TftpDecodeError(field, offset, `the packet ends after ${bytes.length} bytes`);
  }
  return (high << 8) | low;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Firmware does not declare its character set: UTF-8 if the bytes are valid UTF-8, else Latin-1. */
function decodeText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    return String.fromCharCode(...bytes);
  }
}
