// Fetches a file over TFTP, or its beginning, as firmware does: for asking our own servers whether they really serve what is
// advertised. Whoever has seen enough closes, as GRUB and EDK2 do.

import { createSocket } from 'node:dgram';
import { decodeTftp } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { TFTP_ERRORS, type TftpPacket } from '../../codecs/tftp/packet.ts';

const BLOCK_SIZE = 1428;
const WINDOW = 8;
/** Asked again after this long: on a busy machine a datagram may be lost even to ourselves. */
const ASK_AGAIN_MS = 1000;

export interface Fetched {
  /** As announced; null: it was not. */
  readonly size: number | null;
  readonly bytes: Uint8Array;
}

interface Manners {
  readonly patienceMs: number;
  /** So many bytes are enough. */
  readonly most?: number;
}

/** Rejects with what the server said, or when nothing comes for so long. */
export function tftpFetch(
  { address, port }: { readonly address: string; readonly port: number },
  file: string,
  { patienceMs, most = Number.POSITIVE_INFINITY }: Manners,
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
    let patience: NodeJS.Timeout;
    const asking = setInterval(() => socket.send(request, port, address), ASK_AGAIN_MS);
    const end = (settle: () => void): void => {
      isOver = true;
      clearInterval(asking);
      clearTimeout(patience);
      socket.close();
      settle();
    };
    const wait = (): void => {
      clearTimeout(patience);
      patience = setTimeout(() => end(() => reject(new Error(`no answer within ${patienceMs} ms`))), patienceMs);
    };
    const acknowledgement = (): TftpPacket => ({ op: 'ack', block: blocks.length & 0xffff });
    const finish = (lastWord: TftpPacket, to: number): void => {
      isOver = true;
      const bytes = Buffer.concat(blocks);
      socket.send(encodeTftp(lastWord), to, address, () =>
        end(() => resolve({ size, bytes: bytes.subarray(0, Math.min(most, bytes.length)) })),
      );
    };

    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (datagram, { port: from }) => {
      if (isOver) return;
      clearInterval(asking);
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
