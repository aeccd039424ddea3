// State machine of one read transfer, from the first reply to its end: RFC 1350 §2 and §4, windows by RFC 7440. It owns no
// socket and no clock: input is packets and expired timers, output is what to send and how long to wait.
//
// DATA is retransmitted only on timeout, or when an ACK from inside the window says where to continue. Never in reply to a
// repeated ACK: EDK2 acknowledges every unexpected block, and a server that answers those doubles all traffic for the rest
// of the file (RFC 1123 §4.2.3.1, the Sorcerer's Apprentice).

import { blockFromWire, type RolloverTo } from '../../codecs/tftp/block-number.ts';
import { BlockWindow } from '../../codecs/tftp/block-window.ts';
import { type BlockSource, octetBlocks } from '../../codecs/tftp/blocks.ts';
import { isDeliberateClose } from '../../codecs/tftp/closing-error.ts';
import { decodeTftp, TftpDecodeError } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import type { TransferTerms } from '../../codecs/tftp/negotiate.ts';
import { netasciiBlocks } from '../../codecs/tftp/netascii.ts';
import { OPCODES, TFTP_ERRORS, type TftpPacket } from '../../codecs/tftp/packet.ts';
import { type BlockOfFile, WholeBlocks } from '../../codecs/tftp/whole-blocks.ts';
import { shown } from '../../domain/parsed.ts';

/** The client's TID: every packet of the transfer comes from here. */
export interface TftpPeer {
  readonly address: string;
  readonly port: number;
}

export interface TransferOpening {
  readonly peer: TftpPeer;
  /** The request as received: the same bytes again mean that our first reply was lost. */
  readonly request: Uint8Array;
  readonly mode: 'octet' | 'netascii';
  readonly terms: TransferTerms;
  readonly source: BlockSource;
  readonly rolloverTo: RolloverTo;
  /** How often the first reply is sent to a client that never answers, at 0, 1, 3, 7 … seconds. */
  readonly firstReplies: number;
}

export interface TransferOutcome {
  /** `probe`: the client only wanted the size (or whether the file exists) and closed; not an error. */
  readonly result: 'completed' | 'probe' | 'aborted' | 'timeout' | 'error';
  /** For the operator; null when it completed. */
  readonly reason: string | null;
  /** The client's ERROR, if one ended the transfer. The message is untrusted text. */
  readonly clientError: { readonly code: number; readonly message: string } | null;
  /** As acknowledged by the client. */
  readonly blocks: number;
  readonly bytes: number;
  /** Packets sent more than once. */
  readonly resent: number;
}

/** A transfer that goes on, and has made no progress for some seconds. */
export type TransferStall = Pick<TransferOutcome, 'blocks' | 'bytes' | 'resent'> & { readonly reason: string };

export type TransferAction =
  /** To the peer. The bytes may be overwritten after the peer acknowledged them. */
  | { readonly do: 'send'; readonly bytes: Uint8Array }
  /** To the peer, from a source that is whole in memory. */
  | { readonly do: 'send-block'; readonly block: BlockOfFile }
  /** To a sender that is not part of this transfer; the transfer continues. */
  | { readonly do: 'reject-unknown-tid'; readonly to: TftpPeer; readonly bytes: Uint8Array }
  /** Call onTimeout() after this long; replaces the previous timer. */
  | { readonly do: 'set-timer'; readonly afterMs: number }
  /** At most once in a transfer. */
  | { readonly do: 'report-stall'; readonly stall: TransferStall }
  /** The last action: drop the transfer and its timer. */
  | { readonly do: 'finish'; readonly outcome: TransferOutcome };

const NOTHING: readonly TransferAction[] = [];

const FIRST_WAIT_MS = 1000;
/** After the last first reply: a client that repeats its request gets the reply again. */
const LAST_WAIT_MS = 16_000;
/**
 * After that every second: on a link that loses a fifth of all packets each way, one block in 160 needs more than five tries, and a
 * loader has a thousand blocks. After some tries we wait longer than any client does: atftp answers one repeated block and
 * ignores the next, and each resets its own timer of 5 seconds, so both sides would wait for each other until the end.
 */
const TRIES_BEFORE_A_PAUSE = 4;
const PAUSE_MS = 6500;
const GIVE_UP_AFTER_MS = 31_000;
/** A lost packet is repeated after a second: this long, several were lost in a row. */
const STALLED_AFTER_MS = 4000;

export class TftpTransfer {
  readonly #opening: TransferOpening;
  readonly #window: BlockWindow | WholeBlocks;
  readonly #optionAck: Uint8Array;
  /** The OACK was sent and ACK 0 has not arrived. */
  #awaitsAckZero: boolean;
  /** The client has answered, so it received our first packet. */
  #clientAnswered = false;
  /** The highest block acknowledged. */
  #acknowledged = 0;
  /** Timeouts since the client last advanced the transfer, and their total duration. */
  #timeouts = 0;
  #silentMs = 0;
  #waitMs = 0;
  #resent = 0;
  #stallReported = false;
  #finished = false;

  constructor(opening: TransferOpening) {
    const { terms } = opening;
    this.#opening = opening;
    this.#window = windowOf(opening);
    this.#awaitsAckZero = terms.acknowledged.size > 0;
    this.#optionAck = encodeTftp({ op: 'optionAck', options: terms.acknowledged });
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** The client has acknowledged something. */
  get answered(): boolean {
    return this.#clientAnswered;
  }

  /** The first reply: the OACK, or the first block if no option was granted. */
  start(): readonly TransferAction[] {
    return this.#answer();
  }

  onPacket(bytes: Uint8Array, from: TftpPeer): readonly TransferAction[] {
    if (this.#finished) return NOTHING;
    const { peer } = this.#opening;
    // Fast path for nearly every packet of a transfer.
    if (from === peer && isAck(bytes)) return this.#onAck(((bytes[2] as number) << 8) | (bytes[3] as number));
    const packet = decodedOrNull(bytes);
    if (packet === null) return NOTHING;
    if (from.port !== peer.port || from.address !== peer.address) return rejectUnknownTid(packet, from);
    switch (packet.op) {
      case 'ack':
        return this.#onAck(packet.block);
      case 'error':
        return this.#onClientError(packet.code, packet.message);
      case 'read':
        return this.#onRequestAgain(bytes);
      // Not valid from a reader. An ERROR would end a transfer that is otherwise healthy.
      case 'write':
      case 'data':
      case 'optionAck':
        return NOTHING;
    }
  }

  onTimeout(): readonly TransferAction[] {
    // While we wait for the source, the client has nothing to answer.
    if (this.#finished || !this.#unanswered()) return NOTHING;
    this.#timeouts += 1;
    this.#silentMs += this.#waitMs;
    const { firstReplies } = this.#opening;
    const givesUp = this.#clientAnswered ? this.#silentMs >= GIVE_UP_AFTER_MS : this.#timeouts >= firstReplies;
    if (givesUp) return this.#finish('timeout', this.#silenceReason());
    return [...this.#stall(), ...this.#answer()];
  }

  #stall(): readonly TransferAction[] {
    if (this.#stallReported || this.#silentMs < STALLED_AFTER_MS) return NOTHING;
    this.#stallReported = true;
    return [{ do: 'report-stall', stall: { ...this.#progress(), reason: this.#silenceReason() } }];
  }

  /** The source has the bytes that were not ready before. */
  onReadable(): readonly TransferAction[] {
    return this.#finished || this.#awaitsAckZero ? NOTHING : this.#sendFrom(this.#window.newest + 1);
  }

  /** Ends the transfer from our side and sends an ERROR. */
  abandon(reason: string): readonly TransferAction[] {
    if (this.#finished) return NOTHING;
    const bytes = encodeTftp({ op: 'error', code: TFTP_ERRORS.notDefined, message: shown(reason) });
    return [{ do: 'send', bytes }, ...this.#finish('error', reason)];
  }

  /** Ends the transfer from our side and sends nothing. */
  drop(reason: string): readonly TransferAction[] {
    return this.#finished ? NOTHING : this.#finish('timeout', reason);
  }

  #onAck(wire: number): readonly TransferAction[] {
    if (this.#awaitsAckZero) {
      if (wire !== 0) return NOTHING;
      this.#awaitsAckZero = false;
    } else {
      const block = blockFromWire(wire, this.#acknowledged, this.#opening.rolloverTo);
      if (block <= this.#acknowledged || block > this.#window.newest) return NOTHING;
      this.#acknowledged = block;
    }
    this.#clientAnswered = true;
    this.#timeouts = 0;
    this.#silentMs = 0;
    if (this.#window.complete && this.#acknowledged === this.#window.newest) return this.#finish('completed', null);
    return this.#sendFrom(this.#acknowledged + 1);
  }

  #onClientError(code: number, message: string): readonly TransferAction[] {
    const words = `the client sent ERROR ${code} "${shown(message)}"`;
    const error = { code, message };
    if (!isDeliberateClose(code, message)) return this.#finish('error', words, error);
    const hasSize = this.#opening.terms.acknowledged.has('tsize');
    return this.#finish(hasSize && this.#acknowledged === 0 ? 'probe' : 'aborted', words, error);
  }

  #onRequestAgain(request: Uint8Array): readonly TransferAction[] {
    const same = equalBytes(request, this.#opening.request);
    if (same && !this.#clientAnswered) {
      const first = this.#awaitsAckZero ? this.#optionAck : this.#window.packet(1);
      if (!first) return NOTHING;
      this.#resent += 1;
      return [toSend(first)];
    }
    // A duplicate made by the network arrives while the client acknowledges; it is late, not new. After a timeout, the machine
    // was reset: GRUB counts its ports from 25300 at every start, so the same request comes from the same port.
    if (same && this.#timeouts === 0) return NOTHING;
    return this.#finish('aborted', 'the client restarted the transfer from the same port');
  }

  #answer(): readonly TransferAction[] {
    if (!this.#awaitsAckZero) return this.#sendFrom(this.#acknowledged + 1);
    if (this.#timeouts > 0) this.#resent += 1;
    return [{ do: 'send', bytes: this.#optionAck }, this.#timer()];
  }

  /** Sends the window from this block on: buffered blocks again, then new ones. */
  #sendFrom(first: number): readonly TransferAction[] {
    const actions: TransferAction[] = [];
    const end = this.#acknowledged + this.#opening.terms.windowSize;
    for (let block = first; block <= end; block += 1) {
      if (block <= this.#window.newest) {
        this.#resent += 1;
      } else {
        if (this.#window.complete) break;
        const cut = this.#window.cutNext();
        if (cut === 'not-ready') break;
        if (cut === 'ended-early') return this.abandon('the file is shorter than announced');
      }
      const packet = this.#window.packet(block);
      if (packet) actions.push(toSend(packet));
    }
    if (actions.length > 0) actions.push(this.#timer());
    return actions;
  }

  #unanswered(): boolean {
    return this.#awaitsAckZero || this.#window.newest > this.#acknowledged;
  }

  #timer(): TransferAction {
    // A requested timeout counts only after the client has answered once: a forged request for 255 seconds must not hold a
    // transfer longer than any other. After that it applies (RFC 2349 §2).
    const { firstReplies } = this.#opening;
    const { timeoutSeconds } = this.#opening.terms;
    if (!this.#clientAnswered)
      this.#waitMs = this.#timeouts + 1 >= firstReplies ? LAST_WAIT_MS : FIRST_WAIT_MS * 2 ** this.#timeouts;
    else if (timeoutSeconds !== null) this.#waitMs = timeoutSeconds * 1000;
    else this.#waitMs = this.#timeouts % (TRIES_BEFORE_A_PAUSE + 1) === TRIES_BEFORE_A_PAUSE ? PAUSE_MS : FIRST_WAIT_MS;
    return { do: 'set-timer', afterMs: this.#waitMs };
  }

  #silenceReason(): string {
    if (this.#awaitsAckZero) return `no reply to the OACK, sent ${this.#timeouts} times`;
    const onlyLastIsOpen = this.#window.complete && this.#acknowledged === this.#window.newest - 1;
    if (onlyLastIsOpen)
      return `the whole file was sent, but the last block (${this.#window.newest}) was never acknowledged`;
    if (this.#acknowledged === 0) return 'the first block was never acknowledged';
    return `no packet after the ACK of block ${this.#acknowledged}`;
  }

  #finish(
    result: TransferOutcome['result'],
    reason: string | null,
    clientError: TransferOutcome['clientError'] = null,
  ): readonly TransferAction[] {
    this.#finished = true;
    return [{ do: 'finish', outcome: { result, reason, clientError, ...this.#progress() } }];
  }

  #progress(): Pick<TransferOutcome, 'blocks' | 'bytes' | 'resent'> {
    const blocks = this.#acknowledged;
    return { blocks, bytes: this.#window.bytesThrough(blocks), resent: this.#resent };
  }
}

function windowOf({ terms, mode, source, rolloverTo }: TransferOpening): BlockWindow | WholeBlocks {
  const shape = { ...terms, rolloverTo };
  if (mode === 'netascii') return new BlockWindow(netasciiBlocks(source), shape);
  return source.whole ? new WholeBlocks(source.size, shape) : new BlockWindow(octetBlocks(source), shape);
}

const toSend = (packet: Uint8Array | BlockOfFile): TransferAction =>
  packet instanceof Uint8Array ? { do: 'send', bytes: packet } : { do: 'send-block', block: packet };

/** Bytes after the block number are padding. */
const isAck = (bytes: Uint8Array): boolean => bytes.length >= 4 && bytes[0] === 0 && bytes[1] === OPCODES.ack;

function decodedOrNull(bytes: Uint8Array): TftpPacket | null {
  try {
    return decodeTftp(bytes);
  } catch (error) {
    if (error instanceof TftpDecodeError) return null;
    throw error;
  }
}

/** RFC 1350 §4. An ERROR is never answered: two servers would loop forever. */
function rejectUnknownTid(packet: TftpPacket, to: TftpPeer): readonly TransferAction[] {
  if (packet.op === 'error') return NOTHING;
  const message = 'unknown transfer ID';
  return [
    { do: 'reject-unknown-tid', to, bytes: encodeTftp({ op: 'error', code: TFTP_ERRORS.unknownTransferId, message }) },
  ];
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
