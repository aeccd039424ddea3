// IPMI v2.0 §13.8: the message in a packet. The two checksums make each part sum to zero.
//
//   request   | 20 | netFn·lun | sum | 81 | seq·lun | cmd |      data … | sum |
//   reply     | 81 | netFn·lun | sum | 20 | seq·lun | cmd | code data … | sum |

import { ByteReader, concatBytes } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';

const BMC_ADDRESS = 0x20;
const REMOTE_CONSOLE = 0x81;
/** A reply's network function is the request's with the lowest bit set. */
const REPLY_BIT = 1;
const SMALLEST_REPLY = 8;
/** rqSeq has six bits. */
export const REQUEST_SEQUENCES = 64;

export interface IpmiRequest {
  readonly netFn: number;
  readonly command: number;
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface IpmiReply extends IpmiRequest {
  readonly completionCode: number;
  /** Supermicro X9 sends wrong checksums; a caller that verifies an authentication code may ignore this. */
  readonly checksumsRight: boolean;
}

export const checksum = (bytes: Uint8Array): number => -bytes.reduce((sum, byte) => sum + byte, 0) & 0xff;

export function encodeRequest(request: IpmiRequest): Uint8Array {
  const head = Uint8Array.of(BMC_ADDRESS, request.netFn << 2);
  const body = concatBytes(Uint8Array.of(REMOTE_CONSOLE, request.sequence << 2, request.command), request.data);
  return concatBytes(head, Uint8Array.of(checksum(head)), body, Uint8Array.of(checksum(body)));
}

export function decodeReply(bytes: Uint8Array): IpmiReply {
  if (bytes.length < SMALLEST_REPLY) {
    throw new IpmiDecodeError('message', 0, `a reply needs at least ${SMALLEST_REPLY} bytes, got ${bytes.length}`);
  }
  const reader = new ByteReader(bytes);
  reader.expect(REMOTE_CONSOLE, 'requester address');
  const netFn = reader.uint8('network function') >> 2;
  if ((netFn & REPLY_BIT) === 0)
    throw new IpmiDecodeError('network function', 1, `${netFn} belongs to a request, not a reply`);
  reader.uint8('header checksum');
  reader.expect(BMC_ADDRESS, 'responder address');
  const sequence = reader.uint8('request sequence') >> 2;
  const command = reader.uint8('command');
  const completionCode = reader.uint8('completion code');
  const data = reader.bytes(reader.remaining - 1, 'data');
  const checksumsRight = checksum(bytes.subarray(0, 3)) === 0 && checksum(bytes.subarray(3)) === 0;
  return { netFn: netFn & ~REPLY_BIT, command, sequence, completionCode, data, checksumsRight };
}
