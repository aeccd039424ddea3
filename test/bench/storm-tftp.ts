// Fetches a loader as EDK2 does: first only its size, then aborts, then the whole file in windows of four blocks.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decodeTftp } from '../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../appliance/codecs/tftp/encode.ts';
import { TFTP_ERRORS, type TftpPacket } from '../../appliance/codecs/tftp/packet.ts';

const PORT = 69;
const BLOCK_SIZE = 1468;
const WINDOW_SIZE = 4;
const REPEAT_AFTER_MS = 1000;
const MOST_REPEATS = 6;

const WANTED: readonly (readonly [string, string])[] = [
  ['blksize', String(BLOCK_SIZE)],
  ['windowsize', String(WINDOW_SIZE)],
];

export interface Fetched {
  readonly bytes: number;
  readonly resent: number;
}

export async function fetchLoader(from: string, server: string, file: string): Promise<Fetched> {
  const size = await transfer(from, server, file, 'size');
  const whole = await transfer(from, server, file, 'file');
  if (whole.bytes !== size.bytes) throw new Error(`${file} has ${size.bytes} bytes, and ${whole.bytes} came`);
  return { bytes: whole.bytes, resent: size.resent + whole.resent };
}

async function transfer(from: string, server: string, file: string, want: 'size' | 'file'): Promise<Fetched> {
  const socket = createSocket('udp4');
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  let peerPort = PORT;
  let last: Uint8Array = new Uint8Array();
  let timer: NodeJS.Timeout | undefined;
  let repeats = 0;
  let resent = 0;
  let block = 0;
  let sinceAck = 0;
  let bytes = 0;

  let isOver = false;
  void promise
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  const transmit = (): void => {
    // On a busy machine the last timer may be due together with the end.
    if (isOver) return;
    socket.send(last, peerPort, server);
    clearTimeout(timer);
    timer = setTimeout(repeat, REPEAT_AFTER_MS);
  };
  const repeat = (): void => {
    repeats += 1;
    resent += 1;
    if (repeats > MOST_REPEATS) reject(new Error(`${file}: the server went silent after block ${block}`));
    else transmit();
  };
  const send = (packet: TftpPacket): void => {
    last = encodeTftp(packet);
    transmit();
  };
  const acknowledge = (): void => {
    sinceAck = 0;
    send({ op: 'ack', block: block & 0xffff });
  };
  const onData = (number: number, length: number): void => {
    if (number !== ((block + 1) & 0xffff)) {
      // RFC 7440 §4: missing blocks are requested by acknowledging the last block before them, once for all that follow.
      if (sinceAck > 0) acknowledge();
      return;
    }
    block += 1;
    sinceAck += 1;
    repeats = 0;
    bytes += length;
    const isLast = length < BLOCK_SIZE;
    if (isLast || sinceAck === WINDOW_SIZE) acknowledge();
    if (isLast) resolve({ bytes, resent });
  };
  const onPacket = (packet: TftpPacket): void => {
    if (packet.op === 'error') reject(new Error(`${file}: error ${packet.code}: ${packet.message}`));
    else if (packet.op === 'data') onData(packet.block, packet.payload.length);
    else if (packet.op === 'optionAck' && want === 'size') {
      send({ op: 'error', code: TFTP_ERRORS.optionRefused, message: 'User aborted the transfer' });
      resolve({ bytes: Number(packet.options.get('tsize')), resent });
    } else if (packet.op === 'optionAck' && block === 0) acknowledge();
  };

  try {
    socket.bind(0, from);
    await once(socket, 'listening');
    socket.on('error', reject);
    socket.on('message', (datagram, { port }) => {
      peerPort = port;
      onPacket(decodeTftp(datagram));
    });
    const options = new Map(want === 'size' ? [['tsize', '0'] as const, ...WANTED] : WANTED);
    send({ op: 'read', fileName: file, mode: 'octet', options });
    return await promise;
  } finally {
    clearTimeout(timer);
    // The last acknowledgement must be sent first.
    setImmediate(() => socket.close());
  }
}
