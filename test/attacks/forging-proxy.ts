// A host between client and BMC that rewrites the BMC's datagrams as raw bytes, without the client's codecs.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** Offsets in an RMCP+ datagram (IPMI v2.0 §13.6): after the RMCP header of four bytes. */
export const AT = { format: 4, payloadType: 5, sessionId: 6, sequence: 10, length: 14, payload: 16 } as const;
export const OPEN_SESSION_RESPONSE = 0x11;
export const RAKP_2 = 0x13;
export const RAKP_4 = 0x15;

const RMCP_PLUS = 0x06;

/** The payload type of an RMCP+ datagram without its two flags; null: an IPMI 1.5 datagram. */
export const payloadTypeOf = (bytes: Buffer): number | null =>
  bytes[AT.format] === RMCP_PLUS ? (bytes[AT.payloadType] ?? 0) & 0x3f : null;

/** What is delivered instead of one datagram of the BMC, in this order. */
export type Forge = (reply: Buffer) => readonly Buffer[];

export interface ForgingProxy {
  readonly port: number;
  /** Number of datagrams from the client. */
  readonly asked: () => number;
  /** The port of the last client. */
  readonly clientPort: () => number;
}

export async function forgingProxy(bmcPort: number, forge: Forge): Promise<ForgingProxy> {
  const front = createSocket('udp4');
  front.bind(0, '127.0.0.1');
  await once(front, 'listening');
  const backs = new Map<number, Socket>();
  let [asked, last] = [0, 0];
  const backFor = (clientPort: number): Socket => {
    const back = createSocket('udp4');
    back.on('message', (bytes) => {
      for (const forged of forge(bytes)) front.send(forged, clientPort, '127.0.0.1');
    });
    backs.set(clientPort, back);
    return back;
  };
  front.on('message', (bytes, { port }) => {
    [asked, last] = [asked + 1, port];
    (backs.get(port) ?? backFor(port)).send(bytes, bmcPort, '127.0.0.1');
  });
  onTestFinished(() => {
    for (const back of backs.values()) back.close();
    front.close();
  });
  return { port: front.address().port, asked: () => asked, clientPort: () => last };
}

/** Rewrites only the replies of this type. */
export const onlyTo =
  (payloadType: number, rewrite: Forge): Forge =>
  (reply) =>
    payloadTypeOf(reply) === payloadType ? rewrite(reply) : [reply];

/** The datagram with another payload; the length field matches unless `claimed` is given. */
export function withPayload(reply: Buffer, payload: Buffer, claimed = payload.length): Buffer {
  const forged = Buffer.concat([reply.subarray(0, AT.payload), payload]);
  forged.writeUInt16LE(claimed, AT.length);
  return forged;
}

export const payloadOf = (reply: Buffer): Buffer => reply.subarray(AT.payload);

export function withByte(reply: Buffer, at: number, change: (byte: number) => number): Buffer {
  const forged = Buffer.from(reply);
  forged[at] = change(forged[at] ?? 0) & 0xff;
  return forged;
}
