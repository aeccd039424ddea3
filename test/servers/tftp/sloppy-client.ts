// A TFTP client under full control of the test, correct or not: every datagram by hand, nothing sent by itself.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import type { TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';

export interface Answer {
  readonly packet: TftpPacket;
  readonly from: number;
}

export interface SloppyClient {
  readonly port: number;
  /** `address`: of the server, if it is not the default. */
  send(packet: TftpPacket | Uint8Array, to: number, address?: string): void;
  /** The next datagram. */
  next(): Promise<Answer>;
  /** Received datagrams that were not read yet. */
  unread(): number;
  close(): Promise<void>;
}

export async function sloppyClient(): Promise<SloppyClient> {
  // A datagram must be sent before the socket may be closed: Node's own lookup would delay it.
  const socket = createSocket({ type: 'udp4', lookup: (host, _options, found) => found(null, host, 4) });
  const queue: Answer[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  socket.on('message', (bytes, { port }) => {
    const answer = { packet: decodeTftp(bytes), from: port };
    const reader = waiting.shift();
    if (reader) reader(answer);
    else queue.push(answer);
  });
  const listening = once(socket, 'listening');
  socket.bind(0, '127.0.0.1');
  await listening;
  let open = true;
  const close = async () => {
    if (!open) return;
    open = false;
    socket.close();
    await once(socket, 'close');
  };
  onTestFinished(close);
  return {
    port: socket.address().port,
    send: (packet, to, address = '127.0.0.1') =>
      socket.send(packet instanceof Uint8Array ? packet : encodeTftp(packet), to, address),
    next: async () => queue.shift() ?? new Promise<Answer>((read) => waiting.push(read)),
    unread: () => queue.length,
    close,
  };
}

export const read = (fileName: string, options: Record<string, string> = {}): TftpPacket => ({
  op: 'read',
  fileName,
  mode: 'octet',
  options: new Map(Object.entries(options)),
});
export const ack = (block: number): TftpPacket => ({ op: 'ack', block });

/** The server retransmits after this long without an ACK. */
const REPEATED_AFTER_MS = 1000;

/** Whether the server may have retransmitted this often although nothing was lost: only on a busy machine. */
export function repeatsSince(): (times: number) => boolean {
  const began = performance.now();
  return (times) => times <= Math.floor((performance.now() - began) / REPEATED_AFTER_MS);
}

/** Loads a whole file correctly. Each block arrives once, unless a busy machine delayed one side. */
export async function load(
  client: SloppyClient,
  port: number,
  fileName: string,
  options: { readonly blksize?: string; readonly windowsize?: string } = {},
): Promise<Buffer> {
  client.send(read(fileName, options), port);
  const blockSize = Number(options.blksize ?? 512);
  const windowSize = Number(options.windowsize ?? 1);
  const blocks: Uint8Array[] = [];
  let lastPacketAt = performance.now();
  let wasLate = false;
  for (;;) {
    const { packet, from } = await client.next();
    wasLate ||= performance.now() - lastPacketAt >= REPEATED_AFTER_MS;
    lastPacketAt = performance.now();
    if (packet.op === 'optionAck') client.send(ack(0), from);
    else if (packet.op === 'data') {
      if (wasLate && packet.block <= blocks.length) continue;
      if (packet.block !== blocks.length + 1) throw new Error(`block ${packet.block} after ${blocks.length}`);
      blocks.push(packet.payload);
      const isLast = packet.payload.length < blockSize;
      if (isLast || packet.block % windowSize === 0) client.send(ack(packet.block), from);
      if (isLast) return Buffer.concat(blocks);
    } else throw new Error(`not expected: ${JSON.stringify(packet)}`);
  }
}
