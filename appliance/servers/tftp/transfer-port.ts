// The transfers of one socket, distinguished by their clients' TIDs: dispatches packets and timer ticks, and remembers
// transfers that have just ended.

import type { RolloverTo } from '../../codecs/tftp/block-number.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { OPCODES, TFTP_ERRORS } from '../../codecs/tftp/packet.ts';
import { type Endpoint, peerAt } from '../../net/udp/endpoint.ts';
import type { BurstSocket } from '../../net/udp/udp-socket.ts';
import type { OpenBytes } from './file-bytes.ts';
import { TftpSession, type TransferSocket } from './tftp-session.ts';
import { TftpTransfer } from './tftp-transfer.ts';
import { TransferActivity } from './transfer-activity.ts';
import type { TransferEvents, TransferOrder } from './transfers.ts';

export interface TransferClock {
  /** Monotonic milliseconds. */
  now(): number;
  every(period: number, run: () => void): { readonly cancel: () => void };
}

export const monotonicClock: TransferClock = {
  now: () => performance.now(),
  every: (period, run) => {
    const interval = setInterval(run, period);
    return { cancel: () => clearInterval(interval) };
  },
};

/** Small compared to the second after which a packet is retransmitted. */
const TICK_MS = 100;
/** How long a packet may be in transit, or a client repeat its last ACK. */
const LATE_PACKETS_MS = 3000;

interface TransferPortDeps {
  readonly clock: TransferClock;
  readonly idleMs: number;
  readonly rolloverTo: RolloverTo;
}

export class TransferPort {
  readonly #deps: TransferPortDeps;
  readonly #sessions = new Map<Endpoint, TftpSession>();
  /** With the end time, oldest first. */
  readonly #ended = new Map<Endpoint, number>();
  #ticking: { readonly cancel: () => void } | null = null;

  constructor(deps: TransferPortDeps) {
    this.#deps = deps;
  }

  /** A packet on this port: from the client of a transfer, or from an unknown TID. */
  onPacket(bytes: Uint8Array, from: Endpoint, socket: Pick<BurstSocket, 'send'>): void {
    const session = this.#sessions.get(from);
    if (session) session.onPacket(bytes);
    else if (!this.hasJustEnded(from)) rejectUnknownTid(bytes, from, socket);
  }

  hasJustEnded(client: Endpoint): boolean {
    return this.#ended.has(client);
  }

  /** `activity` is updated, by this port's clock. */
  begin(
    order: Omit<TransferOrder, 'content'>,
    source: OpenBytes,
    socket: TransferSocket,
    { onStall, onEnd }: TransferEvents,
    activity: TransferActivity = new TransferActivity(),
  ): TftpSession {
    const { clock, idleMs, rolloverTo } = this.#deps;
    const { client, request, mode, terms, firstReplies } = order;
    const peer = peerAt(client);
    const session = new TftpSession({
      transfer: new TftpTransfer({ peer, request, mode, terms, source, rolloverTo, firstReplies }),
      peer,
      socket,
      bytes: source,
      now: clock.now,
      activity,
      idleMs,
      onStall,
      onEnd: (outcome) => {
        this.#leave(client);
        onEnd(outcome);
      },
    });
    this.#sessions.set(client, session);
    this.#ticking ??= clock.every(TICK_MS, () => this.#tick());
    session.start();
    return session;
  }

  stop(reason: string): void {
    for (const session of [...this.#sessions.values()]) session.abandon(reason);
    this.#ended.clear();
    this.#stopTicking();
  }

  #leave(client: Endpoint): void {
    // Delete and insert: a map keeps insertion order.
    this.#ended.delete(client);
    this.#ended.set(client, this.#deps.clock.now());
    this.#sessions.delete(client);
  }

  #tick(): void {
    // A copy: sessions that end remove themselves.
    for (const session of [...this.#sessions.values()]) session.onTick();
    const past = this.#deps.clock.now() - LATE_PACKETS_MS;
    for (const [client, at] of this.#ended) {
      if (at > past) break;
      this.#ended.delete(client);
    }
    if (this.#sessions.size === 0 && this.#ended.size === 0) this.#stopTicking();
  }

  #stopTicking(): void {
    this.#ticking?.cancel();
    this.#ticking = null;
  }
}

/** RFC 1350 §4. An ERROR is never answered: two servers would loop forever. */
export function rejectUnknownTid(bytes: Uint8Array, from: Endpoint, socket: Pick<BurstSocket, 'send'>): void {
  if (!isTftp(bytes) || bytes[1] === OPCODES.error) return;
  socket.send(encodeTftp({ op: 'error', code: TFTP_ERRORS.unknownTransferId, message: 'unknown transfer ID' }), from);
}

const isTftp = (bytes: Uint8Array): boolean =>
  bytes.length >= 4 && bytes[0] === 0 && Object.values<number>(OPCODES).includes(bytes[1] ?? 0);
