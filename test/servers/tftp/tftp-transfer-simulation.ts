// A transfer from request to end, between the real state machine and the model client, over a lossy link.

import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { negotiate } from '../../../appliance/codecs/tftp/negotiate.ts';
import type { BlockOfFile } from '../../../appliance/codecs/tftp/whole-blocks.ts';
import {
  TftpTransfer,
  type TransferAction,
  type TransferOutcome,
} from '../../../appliance/servers/tftp/tftp-transfer.ts';
import { type LinkFaults, lossyLink } from './tftp-transfer-lossy-link.ts';
import { type ClientManner, ModelClient } from './tftp-transfer-model-client.ts';
import { Alarm, VirtualTime } from './tftp-transfer-virtual-time.ts';

export interface Scenario {
  readonly file: Uint8Array;
  readonly client: ClientManner;
  readonly link: LinkFaults;
  /** `slow`: every third read is not ready at once. */
  readonly source: 'in pieces' | 'slow' | 'whole';
}

interface Ending {
  readonly received: Buffer | null;
  readonly outcome: TransferOutcome | null;
  readonly lastedMs: number;
}

const PEER = { address: '192.0.2.7', port: 25_300 };
const LIMITS = { maxBlockSize: 1468, maxWindowSize: 64 };
const SOURCE_DELAY_MS = 5;

export const packetOf = ({ head, offset, length }: BlockOfFile, file: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(head >>> 24, head >> 16, head >> 8, head), file.subarray(offset, offset + length)]);

export function simulate({ file, client: manner, link, source: kind }: Scenario): Ending {
  const time = new VirtualTime();
  const timer = new Alarm(time);
  let transfer: TftpTransfer | null = null;
  let outcome: TransferOutcome | null = null;

  const perform = (actions: readonly TransferAction[]): void => {
    for (const action of actions) {
      if (action.do === 'send') toClient(action.bytes);
      if (action.do === 'send-block') toClient(packetOf(action.block, file));
      if (action.do === 'finish') outcome = action.outcome;
      if (action.do === 'set-timer') timer.set(action.afterMs, () => transfer && perform(transfer.onTimeout()));
    }
  };

  let reads = 0;
  const source = {
    size: file.length,
    ...(kind === 'whole' ? { whole: file } : {}),
    read(offset: number, length: number) {
      reads += 1;
      if (kind !== 'slow' || reads % 3 !== 0) return file.subarray(offset, offset + length);
      time.after(SOURCE_DELAY_MS, () => transfer && perform(transfer.onReadable()));
      return null;
    },
  };

  const toServer = lossyLink(time, link, (bytes) => {
    if (transfer) return perform(transfer.onPacket(bytes, PEER));
    const request = decodeTftp(bytes);
    if (request.op !== 'read' || request.mode === 'mail') return;
    const { mode, options } = request;
    const terms = negotiate(options, LIMITS, file.length, mode);
    const { rolloverTo } = manner;
    transfer = new TftpTransfer({ peer: PEER, request: bytes, mode, terms, source, rolloverTo, firstReplies: 5 });
    perform(transfer.start());
  });
  const client = new ModelClient(manner, time, toServer);
  const toClient = lossyLink(time, { ...link, seed: link.seed ^ 0x5a5a5a5a }, (bytes) => client.onPacket(bytes));

  client.request();
  time.run(() => outcome !== null, 20_000 + 4 * file.length);
  return { received: client.received, outcome, lastedMs: time.now };
}
