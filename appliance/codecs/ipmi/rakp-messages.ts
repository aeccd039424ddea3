// IPMI v2.0 §13.20 to §13.23: the four messages with which console and BMC prove that they know the same password.
//
//   RAKP 1   | tag | 0 0 0        | SIDc (4) | Rm (16) | role | 0 0 | length | user name |
//   RAKP 2   | tag | status | 0 0 | SIDm (4) | Rc (16) | GUID (16) | code (20 or 32)      |
//   RAKP 3   | tag | status | 0 0 | SIDc (4) | code (20 or 32)                            |
//   RAKP 4   | tag | status | 0 0 | SIDm (4) | integrity value (12 or 16)                 |

import { ByteReader, concatBytes, uint32Bytes } from './bytes.ts';
import { IpmiDecodeError } from './errors.ts';

export const RANDOM_BYTES = 16;
const GUID_BYTES = 16;

export interface Rakp1 {
  readonly tag: number;
  readonly bmcSessionId: number;
  readonly consoleRandom: Uint8Array;
  readonly role: number;
  readonly userName: Uint8Array;
}

export type Rakp2 = RakpReply<{
  readonly bmcRandom: Uint8Array;
  readonly bmcGuid: Uint8Array;
  readonly code: Uint8Array;
}>;

export type Rakp4 = RakpReply<{ readonly integrityValue: Uint8Array }>;

/** A refusal reliably has only tag and status: ipmi_sim sends nothing more. */
type RakpReply<Content> =
  | { readonly accepted: false; readonly tag: number; readonly status: number }
  | ({ readonly accepted: true; readonly tag: number; readonly consoleSessionId: number } & Content);

export const encodeRakp1 = (message: Rakp1): Uint8Array =>
  concatBytes(
    Uint8Array.of(message.tag, 0, 0, 0),
    uint32Bytes(message.bmcSessionId),
    message.consoleRandom,
    Uint8Array.of(message.role, 0, 0, message.userName.length),
    message.userName,
  );

export const encodeRakp3 = (tag: number, status: number, bmcSessionId: number, code: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(tag, status, 0, 0), uint32Bytes(bmcSessionId), code);

export const decodeRakp2 = (payload: Uint8Array, codeBytes: number): Rakp2 =>
  decodeRakpReply(payload, (reader) => ({
    bmcRandom: reader.bytes(RANDOM_BYTES, 'BMC random number'),
    bmcGuid: reader.bytes(GUID_BYTES, 'BMC GUID'),
    code: reader.bytes(codeBytes, 'key exchange code'),
  }));

export const decodeRakp4 = (payload: Uint8Array, valueBytes: number): Rakp4 =>
  decodeRakpReply(payload, (reader) => ({ integrityValue: reader.bytes(valueBytes, 'integrity check value') }));

function decodeRakpReply<Content>(
  payload: Uint8Array,
  decodeContent: (reader: ByteReader) => Content,
): RakpReply<Content> {
  const reader = new ByteReader(payload);
  const tag = reader.uint8('message tag');
  const status = reader.uint8('status');
  if (status !== 0) return { accepted: false, tag, status };
  reader.bytes(2, 'reserved');
  const consoleSessionId = reader.uint32('console session id');
  const content = decodeContent(reader);
  if (reader.remaining > 0) {
    throw new IpmiDecodeError('end of message', reader.offset, `${reader.remaining} bytes too many`);
  }
  return { accepted: true, tag, consoleSessionId, ...content };
}
