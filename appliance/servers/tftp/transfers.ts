// What a server asks of those that carry its transfers: they run beside it, or in threads of their own.

import type { TransferTerms } from '../../codecs/tftp/negotiate.ts';
import type { Endpoint } from '../../net/udp/endpoint.ts';
import type { TransferContent } from './file-bytes.ts';
import type { TransferOutcome } from './tftp-transfer.ts';

export interface TransferOrder {
  readonly client: Endpoint;
  /** As it came: the same bytes again mean that our first answer was lost. */
  readonly request: Uint8Array;
  readonly mode: 'octet' | 'netascii';
  readonly terms: TransferTerms;
  readonly content: TransferContent;
}

export interface RunningTransfer {
  /**
   * What its client sent to the port of the requests while it is under way. `isOver` is called, now or soon, when that found
   * the transfer at its end, or ended it: then the same packet may be the beginning of another.
   */
  onRequestPort(bytes: Uint8Array, isOver: () => void): void;
  /** Milliseconds since the client was last heard. */
  silentFor(): number;
  /** Ends it, and tells the client. */
  abandon(reason: string): void;
}

export type OnTransferEnd = (outcome: TransferOutcome) => void;

export interface Transfers {
  /** `onEnd` is called once, whatever ends it; perhaps before this resolves. */
  begin(order: TransferOrder, onEnd: OnTransferEnd): Promise<RunningTransfer>;
  /** What comes from there now is late, and wrong only in that: an ERROR could hit the next transfer from the same port. */
  hasJustEnded(client: Endpoint): boolean;
  /** Ends all of them. */
  stop(reason: string): Promise<void>;
}
