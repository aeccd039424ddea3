import type { RolloverTo } from '../../codecs/tftp/block-number.ts';
import type { NegotiationLimits } from '../../codecs/tftp/negotiate.ts';
import type { PortRange } from './transfer-socket.ts';

export interface TftpSettings extends NegotiationLimits {
  readonly addresses: readonly string[];
  readonly port: number;
  /** Everything from the port that requests come to: for NAT and containers. */
  readonly singlePort: boolean;
  /** Where the one port lies that transfers speak from; null: anywhere, and as many as there are threads. */
  readonly transferPorts: PortRange | null;
  /** Transfers at once of one address; firmware has one, GRUB two. */
  readonly perClient: number;
  /** Of all addresses together. */
  readonly atOnce: number;
  readonly idleMs: number;
  readonly rolloverTo: RolloverTo;
  /** How much of the files is kept in memory. */
  readonly memoryBytes: number;
  /** A thread that carries transfers ends when it had none for this long. */
  readonly threadRestMs: number;
}

export const TFTP_DEFAULTS: Omit<TftpSettings, 'addresses'> = {
  port: 69,
  singlePort: false,
  transferPorts: null,
  perClient: 4,
  atOnce: 1024,
  // Just beyond the 31.5 seconds after which a transfer without a timeout of the client's own gives up by itself.
  idleMs: 32_000,
  rolloverTo: 0,
  maxBlockSize: 1468,
  maxWindowSize: 16,
  memoryBytes: 64 * 1024 * 1024,
  threadRestMs: 60_000,
};
