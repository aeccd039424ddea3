import type { RolloverTo } from '../../codecs/tftp/block-number.ts';
import type { NegotiationLimits } from '../../codecs/tftp/negotiate.ts';
import type { PortRange } from './transfer-socket.ts';

export interface TftpSettings extends NegotiationLimits {
  readonly addresses: readonly string[];
  readonly port: number;
  /** Send all transfers from the request port: for NAT and containers. */
  readonly singlePort: boolean;
  /** Range for the one port that transfers use; null: any free port, one per thread. */
  readonly transferPorts: PortRange | null;
  /** Concurrent transfers per client address; firmware uses one, GRUB two. */
  readonly perClient: number;
  /** Concurrent transfers in total. */
  readonly atOnce: number;
  readonly idleMs: number;
  readonly rolloverTo: RolloverTo;
  /** Size of the file cache. */
  readonly memoryBytes: number;
  /** A transfer thread ends after this long without a transfer. */
  readonly threadIdleMs: number;
}

export const TFTP_DEFAULTS: Omit<TftpSettings, 'addresses'> = {
  port: 69,
  singlePort: false,
  transferPorts: null,
  perClient: 4,
  atOnce: 1024,
  // Just above the 31.5 seconds after which a transfer without a negotiated timeout gives up by itself.
  idleMs: 32_000,
  rolloverTo: 0,
  maxBlockSize: 1468,
  maxWindowSize: 16,
  memoryBytes: 64 * 1024 * 1024,
  threadIdleMs: 60_000,
};
