// The interface between the server and its transfers, which run in the same thread or in worker threads.

import type { TransferTerms } from '../../codecs/tftp/negotiate.ts';
import type { Endpoint } from '../../net/udp/endpoint.ts';
import type { TransferContent } from './file-bytes.ts';
import type { TransferOutcome, TransferStall } from './tftp-transfer.ts';

export interface TransferOrder {
  readonly client: Endpoint;
  /** As received: the same bytes again mean that our first reply was lost. */
  readonly request: Uint8Array;
  readonly mode: 'octet' | 'netascii';
  readonly terms: TransferTerms;
  readonly content: TransferContent;
  /** How often the first reply is sent while the client has not answered. */
  readonly firstReplies: number;
}

export interface RunningTransfer {
  /**
   * A packet that its client sent to the request port while the transfer runs. `isOver` is called, now or soon, if the transfer
   * had ended or the packet ended it: then the same packet may start another.
   */
  onRequestPort(bytes: Uint8Array, isOver: () => void): void;
  /** Milliseconds since the client's last packet. */
  silentFor(): number;
  /** The client has acknowledged something: its address is not forged, and it follows the transfer. */
  isAnswered(): boolean;
  /** Ends the transfer and sends an ERROR. */
  abandon(reason: string): void;
  /** Ends the transfer and sends nothing: a real client repeats its request, and a victim of a forged one gets no more packets. */
  drop(reason: string): void;
}

export interface TransferEvents {
  /** At most once, and never after `onEnd`. */
  readonly onStall: (stall: TransferStall) => void;
  /** Exactly once. */
  readonly onEnd: (outcome: TransferOutcome) => void;
}

export interface Transfers {
  /** Events may come before this resolves. */
  begin(order: TransferOrder, events: TransferEvents): Promise<RunningTransfer>;
  /** A packet from this client is only late: an ERROR could hit the next transfer from the same port. */
  hasJustEnded(client: Endpoint): boolean;
  /** Ends all transfers. */
  stop(reason: string): Promise<void>;
}
