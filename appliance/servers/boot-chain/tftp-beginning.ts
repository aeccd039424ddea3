// The size of a file over TFTP and its first bytes; then it is closed, as GRUB and EDK2 close what they have seen enough of.

import { createSocket } from 'node:dgram';
import { decodeTftp } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { TFTP_ERRORS, type TftpPacket } from '../../codecs/tftp/packet.ts';

const BLOCK_SIZE = 1428;
/** Asked again after this long: on a busy machine a datagram may be lost even to ourselves. */
const ASK_AGAIN_MS = 1000;

export interface Beginning {
  /** As announced; null: it was not. */
  readonly size: number | null;
  readonly head: Uint8Array;
}

/** Rejects with what the server said, or when nothing comes for so long. */
export function tftpBeginning(
  { address, port }: { readonly address: string; readonly port: number },
  file: string,
  bytes: number,
  patienceMs: number,
): Promise<Beginning> {
  const request = encodeTftp({
    op: 'read',
    fileName: file,
    mode: 'octet',
    options: new Map([
      ['tsize', '0'],
      ['blksize', String(BLOCK_SIZE)],
    ]),
  });
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    const blocks: Uint8Array[] = [];
    let size: number | null = null;
    let blockSize = 512;
    let isOver = false;
    const asking = setInterval(() => socket.send(request, port, address), ASK_AGAIN_MS);
    const patience = setTimeout(() => end(() => reject(new Error(`no answer within ${patienceMs} ms`))), patienceMs);
    const end = (settle: () => void): void => {
      isOver = true;
      clearInterval(asking);
      clearTimeout(patience);
      socket.close();
      settle();
    };
    /** All of it, if it is that short, or as much as was wanted. */
    const enough = (last: boolean, to: number): void => {
      isOver = true;
      const word: TftpPacket = last
        ? { op: 'ack', block: blocks.length }
        : { op: 'error', code: TFTP_ERRORS.notDefined, message: 'closed' };
      const head = Buffer.concat(blocks).subarray(0, bytes);
      socket.send(encodeTftp(word), to, address, () => end(() => resolve({ size, head })));
    };

    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (datagram, from) => {
      if (isOver) return;
      clearInterval(asking);
      const acknowledge = (): void => socket.send(encodeTftp({ op: 'ack', block: blocks.length }), from.port, address);
      try {
        const packet = decodeTftp(datagram);
        if (packet.op === 'error') return end(() => reject(new Error(`error ${packet.code}: ${packet.message}`)));
        if (packet.op === 'optionAck') {
          size = numberIn(packet.options.get('tsize'));
          blockSize = numberIn(packet.options.get('blksize')) ?? blockSize;
          return acknowledge();
        }
        if (packet.op !== 'data') return;
        if (packet.block === blocks.length + 1) blocks.push(packet.payload.slice());
        const last = packet.payload.length < blockSize;
        if (last || blocks.length * blockSize >= bytes) enough(last, from.port);
        else acknowledge();
      } catch (error) {
        end(() => reject(error));
      }
    });
    socket.send(request, port, address);
  });
}

const numberIn = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
