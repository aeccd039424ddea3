// One transfer with its client and its file: does what the transfer machine says, and closes the file at the end.

import { OPCODES } from '../../codecs/tftp/packet.ts';
import { type Endpoint, endpointOf } from '../../net/udp/endpoint.ts';
import { HeldBytes } from '../../net/udp/held-bytes.ts';
import type { BurstSocket, UdpPeer } from '../../net/udp/udp-socket.ts';
import type { OpenBytes } from './file-bytes.ts';
import type { TftpTransfer, TransferAction, TransferOutcome } from './tftp-transfer.ts';

export type TransferSocket = Pick<BurstSocket, 'send' | 'sendPart'>;

export interface SessionDeps {
  readonly transfer: TftpTransfer;
  /** The same as the transfer's. */
  readonly peer: UdpPeer;
  readonly socket: TransferSocket;
  readonly bytes: OpenBytes;
  /** Milliseconds that only ever go forward: a transfer must not hang because somebody sets the clock. */
  readonly now: () => number;
  /** Written with every packet of the client but requests; another thread may look. */
  readonly heardAt: Float64Array;
  /** A client that is silent for this long is gone, whatever timeout it asked for. */
  readonly idleMs: number;
  readonly onEnd: (outcome: TransferOutcome) => void;
}

export class TftpSession {
  readonly #parts: SessionDeps;
  readonly #peer: UdpPeer;
  readonly #to: Endpoint;
  /** The source, when it is whole. */
  readonly #held: HeldBytes | null;
  /** When the transfer machine wants to know that nothing came. */
  #due = Number.POSITIVE_INFINITY;
  #timedOut = false;

  constructor(parts: SessionDeps) {
    this.#parts = parts;
    this.#peer = parts.peer;
    this.#to = endpointOf(parts.peer);
    this.#held = parts.bytes.whole ? new HeldBytes(parts.bytes.whole) : null;
    parts.heardAt[0] = parts.now();
    parts.bytes.onReady = (failure) => {
      this.#carryOut(failure ? parts.transfer.abandon('the file cannot be read') : parts.transfer.onReadable());
    };
  }

  get finished(): boolean {
    return this.#parts.transfer.finished;
  }

  start(): void {
    this.#carryOut(this.#parts.transfer.start());
  }

  /** Only what the client of this transfer sent. */
  onPacket(bytes: Uint8Array): void {
    const { heardAt, now, transfer } = this.#parts;
    const at = now();
    // A request again, however often, does not show that what was begun goes on.
    if (bytes[1] !== OPCODES.read) heardAt[0] = at;
    this.#carryOut(transfer.onPacket(bytes, this.#peer), at);
  }

  silentFor(): number {
    const { heardAt, now } = this.#parts;
    return now() - (heardAt[0] ?? 0);
  }

  abandon(reason: string): void {
    this.#carryOut(this.#parts.transfer.abandon(reason));
  }

  /** To be called many times a second: a timer of its own would have to be put off with every block. */
  onTick(): void {
    const { now, idleMs, transfer } = this.#parts;
    if (this.silentFor() >= idleMs) {
      this.#timedOut = true;
      this.abandon('the client has fallen silent');
    } else if (now() >= this.#due) {
      this.#due = Number.POSITIVE_INFINITY;
      this.#carryOut(transfer.onTimeout());
    }
  }

  #carryOut(actions: readonly TransferAction[], now = this.#parts.now()): void {
    const { socket } = this.#parts;
    const to = this.#to;
    for (const action of actions) {
      switch (action.do) {
        case 'send':
          socket.send(action.bytes, to);
          break;
        case 'send-block':
          if (this.#held) socket.sendPart({ ...action.block, from: this.#held }, to);
          break;
        case 'set-timer':
          this.#due = now + action.afterMs;
          break;
        case 'finish':
          this.#end(action.outcome);
          break;
        // Never asked for: strangers are told apart before a packet gets here.
        case 'reject-stranger':
          break;
      }
    }
  }

  #end(outcome: TransferOutcome): void {
    const { bytes, onEnd } = this.#parts;
    bytes.close();
    onEnd(this.#timedOut ? { ...outcome, result: 'timeout' } : outcome);
  }
}
