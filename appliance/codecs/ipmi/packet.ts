// IPMI v2.0 §13.6: the two packet forms behind the RMCP header. The first has no session yet; sessions are RMCP+.
//
//   v1.5    | 00 | sequence (4) | session id (4) | length | message |
//   RMCP+   | 06 | type | session id (4) | sequence (4) | length (2) | payload | pad FF … | pad length | 07 | code |
//
// The type's bit 7 says encrypted, bit 6 authenticated; without the latter nothing follows the payload.

import { ByteReader, concatBytes, uint16Bytes, uint32Bytes } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';
import { decodePong, decodeRmcp, encodeRmcp, type Pong, RMCP_BYTES } from './rmcp.ts';

const FORMAT_NONE = 0x00;
const FORMAT_RMCP_PLUS = 0x06;
const ENCRYPTED = 0x80;
const AUTHENTICATED = 0x40;
/** Nothing that IPMI sends is longer; UDP would let a liar claim 64 KiB. */
const MAX_PACKET_BYTES = 4096;

export const PAYLOAD = {
  ipmi: 0x00,
  sol: 0x01,
  openSessionRequest: 0x10,
  openSessionResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const;

export interface RmcpPlusHeader {
  readonly payloadType: number;
  readonly encrypted: boolean;
  readonly authenticated: boolean;
  readonly sessionId: number;
  readonly sequence: number;
}

export interface RmcpPlusPacket extends RmcpPlusHeader {
  readonly kind: 'rmcp-plus';
  readonly payload: Uint8Array;
  /** What follows the payload, and everything before the code in it is signed from the format byte on. */
  readonly trailer: Uint8Array;
  readonly afterRmcp: Uint8Array;
}

export type IpmiPacket =
  | ({ readonly kind: 'pong' } & Pong)
  | { readonly kind: 'sessionless'; readonly message: Uint8Array }
  | RmcpPlusPacket;

/** For the questions that come before a session: nobody vouches for the answer. */
export const encodeSessionless = (message: Uint8Array): Uint8Array =>
  encodeRmcp(
    'ipmi',
    concatBytes(Uint8Array.of(FORMAT_NONE), new Uint8Array(8), Uint8Array.of(message.length), message),
  );

/** The part before the trailer, without the RMCP header: what a code is computed over. */
export const encodeRmcpPlus = (header: RmcpPlusHeader, payload: Uint8Array): Uint8Array =>
  concatBytes(
    Uint8Array.of(
      FORMAT_RMCP_PLUS,
      header.payloadType | (header.encrypted ? ENCRYPTED : 0) | (header.authenticated ? AUTHENTICATED : 0),
    ),
    uint32Bytes(header.sessionId),
    uint32Bytes(header.sequence),
    uint16Bytes(payload.length),
    payload,
  );

/** Open Session and RAKP: session 0, sequence 0, neither signed nor encrypted. */
export const encodeHandshake = (payloadType: number, payload: Uint8Array): Uint8Array =>
  encodeRmcp(
    'ipmi',
    encodeRmcpPlus({ payloadType, encrypted: false, authenticated: false, sessionId: 0, sequence: 0 }, payload),
  );

export function decodePacket(bytes: Uint8Array): IpmiPacket {
  if (bytes.length > MAX_PACKET_BYTES) {
    throw new IpmiDecodeError('packet', 0, `${bytes.length} bytes, more than ${MAX_PACKET_BYTES}`);
  }
  const reader = new ByteReader(bytes);
  if (decodeRmcp(reader) === 'asf') return { kind: 'pong', ...decodePong(reader) };
  const offset = reader.offset;
  const format = reader.uint8('authentication type');
  if (format === FORMAT_NONE) return decodeSessionless(reader);
  if (format === FORMAT_RMCP_PLUS) return decodeRmcpPlus(reader, bytes);
  throw new IpmiDecodeError('authentication type', offset, `${format} belongs to IPMI 1.5 sessions`);
}

function decodeSessionless(reader: ByteReader): IpmiPacket {
  reader.uint32('sequence');
  const sessionAt = reader.offset;
  const sessionId = reader.uint32('session id');
  if (sessionId !== 0) throw new IpmiDecodeError('session id', sessionAt, 'an unauthenticated session');
  const length = reader.uint8('message length');
  return { kind: 'sessionless', message: reader.bytes(length, 'message') };
}

function decodeRmcpPlus(reader: ByteReader, bytes: Uint8Array): RmcpPlusPacket {
  const type = reader.uint8('payload type');
  const sessionId = reader.uint32('session id');
  const sequence = reader.uint32('sequence');
  const length = reader.uint16('payload length');
  const payload = reader.bytes(length, 'payload');
  return {
    kind: 'rmcp-plus',
    payloadType: type & 0x3f,
    encrypted: (type & ENCRYPTED) !== 0,
    authenticated: (type & AUTHENTICATED) !== 0,
    sessionId,
    sequence,
    payload,
    trailer: reader.rest(),
    afterRmcp: bytes.subarray(RMCP_BYTES),
  };
}
