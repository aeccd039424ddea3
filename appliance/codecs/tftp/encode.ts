// Encodes TFTP packets (RFC 1350 §5, RFC 2347).

import { OPCODES, type TftpOptions, type TftpPacket } from './packet.ts';

/** The header of a DATA packet: opcode and block number. */
export const DATA_HEADER_BYTES = 4;

export function encodeTftp(packet: TftpPacket): Uint8Array {
  switch (packet.op) {
    case 'read':
    case 'write':
      return withText(OPCODES[packet.op], [], [packet.fileName, packet.mode, ...optionTexts(packet.options)]);
    case 'data': {
      const bytes = new Uint8Array(DATA_HEADER_BYTES + packet.payload.length);
      writeDataHeader(bytes, packet.block);
      bytes.set(packet.payload, DATA_HEADER_BYTES);
      return bytes;
    }
    case 'ack':
      return Uint8Array.of(0, OPCODES.ack, packet.block >> 8, packet.block);
    case 'error':
      return withText(OPCODES.error, [packet.code >> 8, packet.code], [packet.message]);
    case 'optionAck':
      return withText(OPCODES.optionAck, [], optionTexts(packet.options));
  }
}

/** For a sender that manages its own buffers and writes the payload after the header. */
export function writeDataHeader(target: Uint8Array, block: number): void {
  target[0] = 0;
  target[1] = OPCODES.data;
  target[2] = block >> 8;
  target[3] = block;
}

/** The same four bytes as one number. */
export const dataHeader = (block: number): number => (OPCODES.data << 16) | (block & 0xffff);

const optionTexts = (options: TftpOptions): string[] => [...options].flat();

const UTF8 = new TextEncoder();

function withText(opcode: number, head: readonly number[], texts: readonly string[]): Uint8Array {
  const nul = texts.find((text) => text.includes('\0'));
  // Decoded packets have none; in a packet built here a NUL would let the text forge the following fields.
  if (nul !== undefined) throw new RangeError(`a TFTP string contains a zero byte: ${JSON.stringify(nul)}`);
  const body = UTF8.encode(texts.map((text) => `${text}\0`).join(''));
  const bytes = new Uint8Array(2 + head.length + body.length);
  bytes.set([0, opcode, ...head]);
  bytes.set(body, 2 + head.length);
  return bytes;
}
