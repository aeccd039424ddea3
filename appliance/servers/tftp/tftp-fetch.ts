// Fetches a file over TFTP as firmware does: for asking our own server whether it really serves what is advertised.

import { createSocket } from 'node:dgram';
import { decodeTftp } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';

const BLOCK_SIZE = 1428;
const WINDOW = 8;

/** Rejects with what the server said, or when nothing comes for so long. It asks once and does not repeat itself. */
export function tftpFetch(address: string, port: number, file: string, patienceMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    const blocks: Uint8Array[] = [];
    let size = 512;
    let window = 1;
    let timer: NodeJS.Timeout;
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.close();
      settle();
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end(() => reject(new Error(`no answer within ${patienceMs} ms`))), patienceMs);
    };
    const acknowledge = (to: number): void =>
      socket.send(encodeTftp({ op: 'ack', block: blocks.length & 0xffff }), to, address);

    socket.on('error', (error) => end(() => reject(error)));
    socket.on('message', (bytes, from) => {
      wait();
      try {
        const packet = decodeTftp(bytes);
        if (packet.op === 'error') return end(() => reject(new Error(`error ${packet.code}: ${packet.message}`)));
        if (packet.op === 'optionAck') {
          size = Number(packet.options.get('blksize') ?? size);
          window = Number(packet.options.get('windowsize') ?? window);
          return acknowledge(from.port);
        }
        if (packet.op !== 'data' || packet.block !== ((blocks.length + 1) & 0xffff)) return;
        blocks.push(packet.payload.slice());
        const last = packet.payload.length < size;
        if (last || blocks.length % window === 0) acknowledge(from.port);
        if (last) setImmediate(() => end(() => resolve(Buffer.concat(blocks))));
      } catch (error) {
        end(() => reject(error));
      }
    });
    wait();
    const options = new Map([
      ['tsize', '0'],
      ['blksize', String(BLOCK_SIZE)],
      ['windowsize', String(WINDOW)],
    ]);
    socket.send(encodeTftp({ op: 'read', fileName: file, mode: 'octet', options }), port, address);
  });
}
