// A transfer driven by hand: its actions as short strings to compare.

import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { negotiate } from '../../../appliance/codecs/tftp/negotiate.ts';
import type { TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';
import {
  TftpTransfer,
  type TransferAction,
  type TransferOpening,
} from '../../../appliance/servers/tftp/tftp-transfer.ts';

export const PEER = { address: '192.0.2.7', port: 2070 };
const LIMITS = { maxBlockSize: 1468, maxWindowSize: 16 };

export const request = (options: Readonly<Record<string, string>>, fileName = 'file'): Uint8Array =>
  encodeTftp({ op: 'read', fileName, mode: 'octet', options: new Map(Object.entries(options)) });

export function open(
  options: Readonly<Record<string, string>>,
  file: string,
  changes: Partial<TransferOpening> = {},
): TftpTransfer {
  const content = new Uint8Array(Buffer.from(file, 'latin1'));
  return new TftpTransfer({
    peer: PEER,
    request: request(options),
    mode: 'octet',
    terms: negotiate(new Map(Object.entries(options)), LIMITS, content.length, 'octet'),
    source: { size: content.length, read: (offset, length) => content.subarray(offset, offset + length) },
    rolloverTo: 0,
    firstReplies: 5,
    ...changes,
  });
}

export const ack = (block: number): Uint8Array => encodeTftp({ op: 'ack', block });
export const error = (code: number, message: string): Uint8Array => encodeTftp({ op: 'error', code, message });

/** `OACK blksize=8`, `DATA 1 abcdefgh`, `ERROR 0 …`, `wait 1000`, `unknown-tid ERROR 5 …`, `finish completed`. */
export const inWords = (actions: readonly TransferAction[]): string[] =>
  actions.filter((action) => action.do !== 'report-stall').map(actionInWords);

function actionInWords(action: TransferAction): string {
  switch (action.do) {
    case 'send':
      return packetInWords(decodeTftp(action.bytes));
    case 'send-block':
      return `DATA ${action.block.head & 0xffff} from ${action.block.offset}, ${action.block.length} bytes`;
    case 'reject-unknown-tid':
      return `unknown-tid ${packetInWords(decodeTftp(action.bytes))}`;
    case 'set-timer':
      return `wait ${action.afterMs}`;
    case 'report-stall':
      return `stalled, ${action.stall.reason}`;
    case 'finish':
      return `finish ${action.outcome.result}`;
  }
}

function packetInWords(packet: TftpPacket): string {
  if (packet.op === 'data') return `DATA ${packet.block} ${Buffer.from(packet.payload).toString('latin1')}`.trimEnd();
  if (packet.op === 'error') return `ERROR ${packet.code} ${packet.message}`;
  if (packet.op === 'optionAck')
    return `OACK ${[...packet.options].map(([name, value]) => `${name}=${value}`).join(' ')}`;
  return packet.op;
}

export const stallsIn = (actions: readonly TransferAction[]) =>
  actions.flatMap((action) => (action.do === 'report-stall' ? [action.stall] : []));

export function outcomeOf(actions: readonly TransferAction[]) {
  const last = actions.at(-1);
  return last?.do === 'finish' ? last.outcome : null;
}
