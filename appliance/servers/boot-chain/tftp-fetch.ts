// A TFTP client that fetches a file or its beginning, as firmware does, to check that our own servers serve what is
// advertised. When it has enough bytes it sends an ERROR, as GRUB and EDK2 do.

import { createSocket } from 'node:dgram';
import { decodeTftp } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { TFTP_ERRORS, type TftpPacket } from '../../codecs/tftp/packet.ts';
import { Unreachable } from './unreachable.ts';

const BLOCK_SIZE = 1428;
const WINDOW = 8;
/** Retransmit interval: on a busy machine even a local datagram may be lost. */
const RETRANSMIT_MS = 1000;

export interface Fetched {
  /** As announced (tsize); null: not announced. */
  readonly size: number | null;
  readonly bytes: Uint8Array;
}

interface TftpFetchOptions {
  readonly timeoutMs: number;
  /** Stop after this many bytes. */
  readonly most?: number;
}

/** Rejects with the server's ERROR, or with Unreachable when no packet arrives within the timeout. */
export function tftpFetch(
  { address, port }: { readonly address: string; readonly port: number },
  file: string,
  { timeoutMs, most = Number.POSITIVE_INFINITY }: TftpFetchOptions,
): Promise<Fetched> {
  const options = new Map([
    ['tsize', '0'],
    ['blksize', String(BLOCK_SIZE)],
    ['windowsize', String(WINDOW)],
  ]);
  const request = encodeTftp({ op: 'read', fileName: file, mode: 'octet', options });
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    const blocks: Uint8Array[] = [];
    let size: number | null = null;
    let blockSize = 512;
    let window = 1;
    let isOver = false;
    let timer: NodeJS.Timeout;
    const retransmits = setInterval(() => socket.send(request, port, address), RETRANSMIT_MS);
    const end = (settle: () => void): void => {
      isOver = true;
      clearInterval(retransmits);
      clearTimeout(timer);
      socket.close();
      settle();
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end(() => reject(new Unreachable(`no reply within ${timeoutMs} ms`))), timeoutMs);
    };
    const acknowledgement = (): TftpPacket => ({ op: 'ack', block: blocks.length & 0xffff });
    const finish = (lastPacket: TftpPacket, to: number): void => {
      isOver = true;
      const bytes = Buffer.concat(blocks);
      socket.send(encodeTftp(lastPacket), to, address, () =>
        end(() => resolve({ size, bytes: bytes.subarray(0, Math.min(most, bytes.length)) })),
      );
    };

    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (datagram, { port: from }) => {
      if (isOver) return;
      clearInterval(retransmits);
      wait();
      try {
        const packet = decodeTftp(datagram);
        if (packet.op === 'error') return end(() => reject(new Error(`error ${packet.code}: ${packet.message}`)));
        if (packet.op === 'optionAck') {
          size = numberIn(packet.options.get('tsize'));
          blockSize = numberIn(packet.options.get('blksize')) ?? blockSize;
          window = numberIn(packet.options.get('windowsize')) ?? window;
          return socket.send(encodeTftp(acknowledgement()), from, address);
        }
        if (packet.op !== 'data' || packet.block !== ((blocks.length + 1) & 0xffff)) return;
        blocks.push(packet.payload.slice());
        if (packet.payload.length < blockSize) finish(acknowledgement(), from);
        else if (blocks.length * blockSize >= most) finish(CLOSED, from);
        else if (blocks.length % window === 0) socket.send(encodeTftp(acknowledgement()), from, address);
      } catch (error) {
        end(() => reject(error));
      }
    });
    wait();
    socket.send(request, port, address);
  });
}

const CLOSED: TftpPacket = { op: 'error', code: TFTP_ERRORS.notDefined, message: 'closed' };

const numberIn = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
