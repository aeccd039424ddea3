// IPMI v2.0 §13.17, §13.18: RMCP+ Open Session.
//
//   request    | tag | privilege | 0 0       | SIDm (4) | authentication (8) | integrity (8) | confidentiality (8) |
//   response   | tag | status | privilege | 0 | SIDm (4) | SIDc (4) | the same three            |
//   refusal    | tag | status | the rest is optional: ipmi_sim ends here |
//   algorithm  | kind | 0 0 | length 08 | number | 0 0 0 |

import { ByteReader, concatBytes, uint32Bytes } from './bytes.ts';
import type { CipherSuite } from './cipher-suite.ts';
import { IpmiDecodeError } from './errors.ts';

const ALGORITHM_BYTES = 8;
const ALGORITHM_KINDS = { authentication: 0, integrity: 1, confidentiality: 2 } as const;

export interface Algorithms {
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
}

export interface OpenSessionRequest {
  readonly tag: number;
  readonly privilege: number;
  readonly consoleSessionId: number;
  readonly suite: CipherSuite;
}

export type OpenSessionResponse =
  | {
      readonly accepted: true;
      readonly tag: number;
      readonly privilege: number;
      readonly consoleSessionId: number;
      readonly bmcSessionId: number;
      readonly algorithms: Algorithms;
    }
  | { readonly accepted: false; readonly tag: number; readonly status: number };

export const encodeOpenSessionRequest = (request: OpenSessionRequest): Uint8Array =>
  concatBytes(
    Uint8Array.of(request.tag, request.privilege, 0, 0),
    uint32Bytes(request.consoleSessionId),
    encodeAlgorithms(request.suite),
  );

export const encodeAlgorithms = (algorithms: Algorithms): Uint8Array =>
  concatBytes(
    ...(['authentication', 'integrity', 'confidentiality'] as const).map((kind) =>
      Uint8Array.of(ALGORITHM_KINDS[kind], 0, 0, ALGORITHM_BYTES, algorithms[kind], 0, 0, 0),
    ),
  );

export function decodeOpenSessionResponse(payload: Uint8Array): OpenSessionResponse {
  const reader = new ByteReader(payload);
  const tag = reader.uint8('message tag');
  const status = reader.uint8('status');
  if (status !== 0) return { accepted: false, tag, status };
  const privilege = reader.uint8('maximum privilege');
  reader.uint8('reserved');
  const consoleSessionId = reader.uint32('console session id');
  const bmcSessionId = reader.uint32('BMC session id');
  if (bmcSessionId === 0) throw new IpmiDecodeError('BMC session id', 8, 'is 0, which means no session');
  const algorithms = {
    authentication: decodeAlgorithm(reader, 'authentication'),
    integrity: decodeAlgorithm(reader, 'integrity'),
    confidentiality: decodeAlgorithm(reader, 'confidentiality'),
  };
  return { accepted: true, tag, privilege, consoleSessionId, bmcSessionId, algorithms };
}

function decodeAlgorithm(reader: ByteReader, kind: keyof typeof ALGORITHM_KINDS): number {
  reader.expect(ALGORITHM_KINDS[kind], `${kind} payload type`);
  reader.bytes(2, `${kind} reserved`);
  reader.expect(ALGORITHM_BYTES, `${kind} payload length`);
  const number = reader.uint8(`${kind} algorithm`);
  reader.bytes(3, `${kind} reserved`);
  return number;
}
