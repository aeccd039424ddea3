// IPMI v2.0 §13.1.3 and ASF 2.0 §3.2: the header of every datagram on port 623, and the presence ping.
//
//   0        1          2          3
//   +--------+----------+----------+-----------------+
//   | 06     | reserved | seq (FF) | class: 06 ASF,  |
//   |        |          |          |        07 IPMI  |
//   +--------+----------+----------+-----------------+

import { type ByteReader, concatBytes } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';

export const RMCP_BYTES = 4;

const VERSION = 0x06;
/** Requests no RMCP acknowledgement: IPMI has its own. */
const NO_ACKNOWLEDGE = 0xff;
export const RMCP_CLASS = { asf: 0x06, ipmi: 0x07 } as const;
export type RmcpClass = keyof typeof RMCP_CLASS;

export const encodeRmcp = (rmcpClass: RmcpClass, content: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(VERSION, 0, NO_ACKNOWLEDGE, RMCP_CLASS[rmcpClass]), content);

export function decodeRmcp(reader: ByteReader): RmcpClass {
  reader.expect(VERSION, 'RMCP version');
  reader.bytes(2, 'RMCP sequence');
  const offset = reader.offset;
  const number = reader.uint8('RMCP class');
  if (number === RMCP_CLASS.ipmi) return 'ipmi';
  if (number === RMCP_CLASS.asf) return 'asf';
  throw new IpmiDecodeError('RMCP class', offset, `${number} is neither ASF nor IPMI`);
}

/** IANA 4542, the ASF enterprise number, big-endian. */
const ASF_ENTERPRISE = Uint8Array.of(0x00, 0x00, 0x11, 0xbe);
const PING = 0x80;
const PONG = 0x40;
const PONG_DATA_BYTES = 16;
const SUPPORTS_IPMI = 0x80;

export const encodePing = (tag: number): Uint8Array =>
  encodeRmcp('asf', concatBytes(ASF_ENTERPRISE, Uint8Array.of(PING, tag, 0, 0)));

export interface Pong {
  readonly tag: number;
  readonly ipmi: boolean;
}

/** Decodes what follows the RMCP header. */
export function decodePong(reader: ByteReader): Pong {
  for (const byte of ASF_ENTERPRISE) reader.expect(byte, 'ASF enterprise number');
  reader.expect(PONG, 'ASF message type');
  const tag = reader.uint8('ASF message tag');
  reader.uint8('ASF reserved');
  reader.expect(PONG_DATA_BYTES, 'ASF data length');
  reader.bytes(8, 'OEM enterprise number');
  const entities = reader.uint8('supported entities');
  reader.bytes(7, 'supported interactions');
  return { tag, ipmi: (entities & SUPPORTS_IPMI) !== 0 };
}
