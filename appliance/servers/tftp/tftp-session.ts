// One transfer with its client and its file: carries out the actions of the state machine, and closes the file at the end.

import { OPCODES } from '../../codecs/tftp/packet.ts';
import { type Endpoint, endpointOf } from '../../net/udp/endpoint.ts';
import { HeldBytes } from '../../net/udp/held-bytes.ts';
import type { BurstSocket, UdpPeer } from '../../net/udp/udp-socket.ts';
import type { OpenBytes } from './file-bytes.ts';
import type { TftpTransfer, TransferAction, TransferOutcome, TransferStall } from './tftp-transfer.ts';
import type { TransferActivity } from './transfer-activity.ts';

export type TransferSocket = Pick<BurstSocket, 'send' | 'sendPart'>;

export interface SessionDeps {
  readonly transfer: TftpTransfer;
  /** The same object as the transfer's. */
  readonly peer: UdpPeer;
  readonly socket: TransferSocket;
  readonly bytes: OpenBytes;
  /** Monotonic milliseconds: a change of the system clock must not stall a transfer. */
  readonly now: () => number;
  /** Another thread may read it. */
  readonly activity: TransferActivity;
  /** A client that sends nothing for this long is gone, whatever timeout it negotiated. */
  readonly idleMs: number;
  readonly onStall: (stall: TransferStall) => void;
  readonly onEnd: (outcome: TransferOutcome) => void;
}

export class TftpSession {
  readonly #deps: SessionDeps;
  readonly #peer: UdpPeer;
  readonly #to: Endpoint;
  /** The source, if it is whole in memory. */
  readonly #held: HeldBytes | null;
  /** When to call the state machine's onTimeout(). */
  #due = Number.POSITIVE_INFINITY;
  #timedOut = false;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#peer = deps.peer;
    this.#to = endpointOf(deps.peer);
    this.#held = deps.bytes.whole ? new HeldBytes(deps.bytes.whole) : null;
    deps.activity.lastPacketAt = deps.now();
    deps.bytes.onReady = (failure) => {
      this.#carryOut(failure ? deps.transfer.abandon('the file cannot be read') : deps.transfer.onReadable());
    };
  }

  get finished(): boolean {
    return this.#deps.transfer.finished;
  }

  start(): void {
    this.#carryOut(this.#deps.transfer.start());
  }

  /** Only for packets from the client of this transfer. */
  onPacket(bytes: Uint8Array): void {
    const { activity, now, transfer } = this.#deps;
    const at = now();
    // A repeated request does not prove that the client follows the transfer.
    if (bytes[1] !== OPCODES.read) activity.lastPacketAt = at;
    this.#carryOut(transfer.onPacket(bytes, this.#peer), at);
    if (transfer.answered && !activity.isAnswered) activity.noteAnswered();
  }

  silentFor(): number {
    const { activity, now } = this.#deps;
    return now() - activity.lastPacketAt;
  }

  isAnswered(): boolean {
    return this.#deps.activity.isAnswered;
  }

  abandon(reason: string): void {
    this.#carryOut(this.#deps.transfer.abandon(reason));
  }

  drop(reason: string): void {
    this.#carryOut(this.#deps.transfer.drop(reason));
  }

  /** Called many times a second: a timer per transfer would have to be reset with every block. */
  onTick(): void {
    const { now, idleMs, transfer } = this.#deps;
    if (this.silentFor() >= idleMs) {
      this.#timedOut = true;
      this.abandon('the client stopped answering');
    } else if (now() >= this.#due) {
      this.#due = Number.POSITIVE_INFINITY;
      this.#carryOut(transfer.onTimeout());
    }
  }

  #carryOut(actions: readonly TransferAction[], now = this.#deps.now()): void {
    const { socket } = this.#deps;
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
        case 'report-stall':
          this.#deps.onStall(action.stall);
          break;
        case 'finish':
          this.#end(action.outcome);
          break;
        // Does not occur: packets of other senders are filtered out before.
        case 'reject-unknown-tid':
          break;
      }
    }
  }

  #end(outcome: TransferOutcome): void {
    const { bytes, onEnd } = this.#deps;
    bytes.close();
    onEnd(this.#timedOut ? { ...outcome, result: 'timeout' } : outcome);
  }
}
