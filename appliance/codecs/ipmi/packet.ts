// IPMI v2.0 §13.6: the two packet formats after the RMCP header. v1.5 is used before a session; sessions are RMCP+.
//
//   v1.5    | 00 | sequence (4) | session id (4) | length | message |
//   RMCP+   | 06 | type | session id (4) | sequence (4) | length (2) | payload | pad FF … | pad length | 07 | code |
//
// Bit 7 of the type means encrypted, bit 6 authenticated; an unauthenticated packet ends after the payload.

import { ByteReader, concatBytes, uint16Bytes, uint32Bytes } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';
import { decodePong, decodeRmcp, encodeRmcp, type Pong, RMCP_BYTES } from './rmcp.ts';

const FORMAT_NONE = 0x00;
const FORMAT_RMCP_PLUS = 0x06;
const ENCRYPTED = 0x80;
const AUTHENTICATED = 0x40;
/** No IPMI packet is longer; UDP would allow 64 KiB. */
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
  /** What follows the payload. The code in it authenticates everything before it, from the format byte on. */
  readonly trailer: Uint8Array;
  readonly afterRmcp: Uint8Array;
}

export type IpmiPacket =
  | ({ readonly kind: 'pong' } & Pong)
  | { readonly kind: 'sessionless'; readonly message: Uint8Array }
  | RmcpPlusPacket;

/** For requests before a session: the reply is not authenticated. */
export const encodeSessionless = (message: Uint8Array): Uint8Array =>
  encodeRmcp(
    'ipmi',
    concatBytes(Uint8Array.of(FORMAT_NONE), new Uint8Array(8), Uint8Array.of(message.length), message),
  );

/** The part before the trailer, without the RMCP header: the input of the authentication code. */
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

/** Open Session and RAKP: session 0, sequence 0, neither authenticated nor encrypted. */
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
  throw new IpmiDecodeError('authentication type', offset, `${format} is an IPMI 1.5 session, which is not supported`);
}

function decodeSessionless(reader: ByteReader): IpmiPacket {
  reader.uint32('sequence');
  const sessionAt = reader.offset;
  const sessionId = reader.uint32('session id');
  if (sessionId !== 0) throw new IpmiDecodeError('session id', sessionAt, 'a session without authentication');
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
