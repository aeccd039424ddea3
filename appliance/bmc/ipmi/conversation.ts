// The open phase of a session: one request at a time, retransmitted until a reply arrives or the tries are used up.

import type { IpmiCommand } from '../../codecs/ipmi/commands/command.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeReply, encodeRequest, type IpmiReply, REQUEST_SEQUENCES } from '../../codecs/ipmi/message.ts';
import { decodePacket, PAYLOAD } from '../../codecs/ipmi/packet.ts';
import type { Instant } from '../../domain/instant.ts';
import type { SessionChannel } from './session-channel.ts';
import { longWaitEnds, type SessionTimings, waitEnds } from './timings.ts';

/** The part of a command that is sent; the caller decodes the reply. */
export type WireCommand = Pick<IpmiCommand<unknown>, 'name' | 'netFn' | 'command' | 'data' | 'repeatable'>;

export interface ConversationEvents<Id> {
  readonly send: (bytes: Uint8Array) => void;
  readonly answered: (id: Id, reply: IpmiReply, now: Instant) => void;
  /** No reply after all tries. */
  readonly unanswered: (id: Id, ignored: string, now: Instant) => void;
  readonly console: (payload: Uint8Array) => void;
}

interface Request<Id> {
  readonly id: Id;
  readonly command: WireCommand;
  readonly tries: number;
}

interface Pending<Id> extends Request<Id> {
  /** A retransmission keeps it, so that the BMC recognises it. */
  readonly sequence: number;
  readonly tried: number;
  readonly wakeAt: Instant;
}

export class Conversation<Id> {
  readonly #channel: SessionChannel;
  readonly #timings: SessionTimings;
  readonly #events: ConversationEvents<Id>;
  readonly #queue: Request<Id>[] = [];
  #pending: Pending<Id> | null = null;
  #nextSequence = 0;
  #receivedAt: Instant;
  #lastIgnored = '';

  constructor(channel: SessionChannel, timings: SessionTimings, events: ConversationEvents<Id>, now: Instant) {
    this.#channel = channel;
    this.#timings = timings;
    this.#events = events;
    this.#receivedAt = now;
  }

  get channel(): SessionChannel {
    return this.#channel;
  }

  /** Without an outstanding request: when a keep-alive is due. */
  get wakeAt(): Instant {
    return this.#pending?.wakeAt ?? this.#receivedAt + this.#timings.keepAliveAfter;
  }

  get idle(): boolean {
    return this.#pending === null;
  }

  request(id: Id, command: WireCommand, now: Instant, tries = this.#timings.tries): void {
    this.#queue.push({ id, command, tries: command.repeatable ? tries : 1 });
    if (!this.#pending) this.#takeNext(now);
  }

  sendConsole(payload: Uint8Array): void {
    this.#events.send(this.#channel.seal(PAYLOAD.sol, payload));
  }

  /** Drops the outstanding requests and returns their ids. */
  drop(): Id[] {
    const dropped = [...(this.#pending ? [this.#pending.id] : []), ...this.#queue.map(({ id }) => id)];
    this.#pending = null;
    this.#queue.length = 0;
    return dropped;
  }

  receive(bytes: Uint8Array, now: Instant): void {
    try {
      const packet = decodePacket(bytes);
      if (!this.#channel.isOurs(packet)) return;
      const payload = this.#channel.open(packet);
      if (payload === null) return;
      this.#receivedAt = now;
      if (packet.payloadType === PAYLOAD.sol) this.#events.console(payload);
      // The authentication code is valid, so wrong checksums inside (Supermicro X9) do not matter.
      else if (packet.payloadType === PAYLOAD.ipmi) this.#onReply(decodeReply(payload), now);
    } catch (error) {
      if (!(error instanceof IpmiDecodeError)) throw error;
      this.#lastIgnored = error.message;
    }
  }

  wake(now: Instant): void {
    const pending = this.#pending;
    if (!pending || now < pending.wakeAt) return;
    if (pending.tried < pending.tries) {
      this.#transmit(pending, pending.sequence, pending.tried, now);
      return;
    }
    this.#pending = null;
    this.#events.unanswered(pending.id, this.#lastIgnored, now);
  }

  #onReply(reply: IpmiReply, now: Instant): void {
    const pending = this.#pending;
    if (
      !pending ||
      reply.sequence !== pending.sequence ||
      reply.netFn !== pending.command.netFn ||
      reply.command !== pending.command.command
    ) {
      return;
    }
    this.#pending = null;
    this.#events.answered(pending.id, reply, now);
    if (!this.#pending) this.#takeNext(now);
  }

  #takeNext(now: Instant): void {
    const request = this.#queue.shift();
    if (!request) return;
    const sequence = this.#nextSequence;
    this.#nextSequence = (sequence + 1) % REQUEST_SEQUENCES;
    this.#transmit(request, sequence, 0, now);
  }

  #transmit(request: Request<Id>, sequence: number, tried: number, now: Instant): void {
    const wakeAt = request.command.repeatable ? waitEnds(this.#timings, tried, now) : longWaitEnds(this.#timings, now);
    this.#pending = { ...request, sequence, tried: tried + 1, wakeAt };
    this.#events.send(this.#channel.seal(PAYLOAD.ipmi, encodeRequest({ ...request.command, sequence })));
  }
}
