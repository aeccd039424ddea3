// What a server and a thread that carries transfers tell each other.

import type { TftpSettings } from './tftp-settings.ts';
import type { TransferOutcome } from './tftp-transfer.ts';
import type { TransferOrder } from './transfers.ts';

/** What a thread is started with. */
export interface ThreadSetup extends Pick<TftpSettings, 'idleMs' | 'rolloverTo'> {
  readonly address: string;
}

export type ToThread =
  /** `heardAt` is shared memory: the thread writes down there when the client was last heard. */
  | { readonly do: 'begin'; readonly id: number; readonly order: TransferOrder; readonly heardAt: Float64Array }
  /** The client of a transfer has sent this to the port of the requests. */
  | { readonly do: 'tell'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly do: 'abandon'; readonly id: number; readonly reason: string }
  | { readonly do: 'stop'; readonly reason: string };

export type FromThread =
  /** It listens. `now`: by its own clock. */
  | { readonly say: 'ready'; readonly now: number }
  | { readonly say: 'ended'; readonly id: number; readonly outcome: TransferOutcome }
  /** The transfer has got what it was to be told, and is over or not. */
  | { readonly say: 'told'; readonly id: number; readonly isOver: boolean };

/** Of a transfer that could not go on, for a reason on our side. */
export const failedOutcome = (reason: string): TransferOutcome => ({
  result: 'error',
  reason,
  clientError: null,
  blocks: 0,
  bytes: 0,
  resent: 0,
});
