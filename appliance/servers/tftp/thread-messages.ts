// Messages between the server and a transfer thread.

import type { TftpSettings } from './tftp-settings.ts';
import type { TransferOutcome, TransferStall } from './tftp-transfer.ts';
import type { TransferOrder } from './transfers.ts';

/** The worker data of a thread. */
export interface ThreadSetup extends Pick<TftpSettings, 'idleMs' | 'rolloverTo'> {
  readonly address: string;
}

export type ToThread =
  /** `activity` is shared memory: see `TransferActivity`. */
  | { readonly do: 'begin'; readonly id: number; readonly order: TransferOrder; readonly activity: Float64Array }
  /** The client of a transfer sent this packet to the request port. */
  | { readonly do: 'forward'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly do: 'abandon' | 'drop'; readonly id: number; readonly reason: string }
  | { readonly do: 'stop'; readonly reason: string };

export type FromThread =
  /** The thread listens. `now`: its own clock. */
  | { readonly event: 'ready'; readonly now: number }
  | { readonly event: 'stalled'; readonly id: number; readonly stall: TransferStall }
  | { readonly event: 'ended'; readonly id: number; readonly outcome: TransferOutcome }
  /** The forwarded packet was processed; `isOver`: the transfer has ended. */
  | { readonly event: 'forwarded'; readonly id: number; readonly isOver: boolean };

/** Outcome of a transfer that failed on our side. */
export const failedOutcome = (reason: string): TransferOutcome => ({
  result: 'error',
  reason,
  clientError: null,
  blocks: 0,
  bytes: 0,
  resent: 0,
});
