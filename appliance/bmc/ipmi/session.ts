// One session with one BMC, as a state machine: input is packets and the time, output is packets to send and the next wake-up.
// It owns no socket and no timer, and it always closes the session that it opened.
//
//   opening ──▶ raising the privilege ──▶ open ──▶ closing ──▶ ended

import type { CipherSuite } from '../../codecs/ipmi/cipher-suite.ts';
import {
  closeSession,
  getDeviceId,
  PRIVILEGE,
  type Privilege,
  setSessionPrivilege,
} from '../../codecs/ipmi/commands/session-commands.ts';
import { COMPLETED, COMPLETION, completionWords } from '../../codecs/ipmi/completion-code.ts';
import type { IpmiReply } from '../../codecs/ipmi/message.ts';
import type { Instant } from '../../domain/instant.ts';
import { Conversation, type WireCommand } from './conversation.ts';
import type { Established } from './handshake.ts';
import { IpmiError } from './ipmi-error.ts';
import { type OpeningSettings, SessionOpening } from './opening.ts';
import { SessionChannel } from './session-channel.ts';

export type SessionSignal =
  | { readonly kind: 'opened'; readonly suite: CipherSuite['id']; readonly privilege: Privilege }
  | { readonly kind: 'answered'; readonly id: number; readonly reply: IpmiReply }
  | { readonly kind: 'failed'; readonly id: number; readonly error: IpmiError }
  | { readonly kind: 'console'; readonly payload: Uint8Array }
  /** The last signal. Null: the caller closed it. */
  | { readonly kind: 'ended'; readonly error: IpmiError | null };

export interface Reaction {
  readonly send: readonly Uint8Array[];
  readonly signals: readonly SessionSignal[];
  /** Null: the session has ended. */
  readonly wakeAt: Instant | null;
}

/** Numbers are requests of the caller; strings are requests of the session itself. */
type RequestId = number | Privilege | 'keep-alive' | 'close';

type Phase =
  | { readonly at: 'opening'; readonly opening: SessionOpening }
  | {
      readonly at: 'open' | 'raising' | 'closing';
      readonly conversation: Conversation<RequestId>;
      readonly error: IpmiError | null;
    }
  | { readonly at: 'ended' };

/** A BMC that does not confirm the close expires the session by itself. */
const CLOSE_TRIES = 2;
const PRIVILEGE_REFUSALS: ReadonlySet<number> = new Set([0x80, 0x81, COMPLETION.insufficientPrivilege]);

export class IpmiSession {
  readonly #settings: OpeningSettings;
  #phase: Phase;
  #send: Uint8Array[] = [];
  #signals: SessionSignal[] = [];

  /** `start` returns the first packets. */
  constructor(settings: OpeningSettings, now: Instant) {
    this.#settings = settings;
    this.#phase = { at: 'opening', opening: new SessionOpening(settings, (bytes) => this.#send.push(bytes), now) };
  }

  start(): Reaction {
    return this.#reaction();
  }

  receive(bytes: Uint8Array, now: Instant): Reaction {
    const phase = this.#phase;
    if (phase.at === 'opening') {
      phase.opening.receive(bytes, now);
      this.#afterOpening(phase.opening, now);
    } else if (phase.at !== 'ended') {
      phase.conversation.receive(bytes, now);
    }
    return this.#reaction();
  }

  wake(now: Instant): Reaction {
    const phase = this.#phase;
    if (phase.at === 'opening') {
      phase.opening.wake(now);
      this.#afterOpening(phase.opening, now);
    } else if (phase.at !== 'ended') {
      const { conversation } = phase;
      if (phase.at === 'open' && conversation.idle && now >= conversation.wakeAt) {
        conversation.request('keep-alive', getDeviceId(), now);
      } else {
        conversation.wake(now);
      }
    }
    return this.#reaction();
  }

  /** Only after the signal `opened`. */
  request(id: number, command: WireCommand, now: Instant): Reaction {
    if (this.#phase.at === 'open') this.#phase.conversation.request(id, command, now);
    else this.#signals.push({ kind: 'failed', id, error: notOpen() });
    return this.#reaction();
  }

  sendConsole(payload: Uint8Array): Reaction {
    if (this.#phase.at === 'open') this.#phase.conversation.sendConsole(payload);
    return this.#reaction();
  }

  close(now: Instant): Reaction {
    const phase = this.#phase;
    if (phase.at === 'opening') {
      phase.opening.abandon();
      this.#end(null);
    } else if (phase.at === 'open' || phase.at === 'raising') {
      this.#closeBecause(phase.conversation, null, now);
    }
    return this.#reaction();
  }

  #afterOpening(opening: SessionOpening, now: Instant): void {
    if (!opening.result) return;
    if (opening.result.established) this.#converse(opening.result.established, now);
    else this.#end(opening.result.error);
  }

  #converse(established: Established, now: Instant): void {
    const { timings, random } = this.#settings;
    const conversation = new Conversation<RequestId>(
      new SessionChannel(established, random),
      timings,
      {
        send: (bytes) => this.#send.push(bytes),
        answered: (id, reply, at) => this.#answered(conversation, id, reply, at),
        unanswered: (id, ignored, at) => this.#lost(conversation, id, ignored, at),
        console: (payload) => this.#signals.push({ kind: 'console', payload }),
      },
      now,
    );
    this.#phase = { at: 'raising', conversation, error: null };
    const { privilege } = established.offer;
    conversation.request(privilege, setSessionPrivilege(privilege), now);
  }

  #answered(conversation: Conversation<RequestId>, id: RequestId, reply: IpmiReply, now: Instant): void {
    if (typeof id === 'number') this.#signals.push({ kind: 'answered', id, reply });
    else if (id === 'close') this.#end(this.#phase.at === 'closing' ? this.#phase.error : null);
    else if (id !== 'keep-alive') this.#raised(conversation, id, reply, now);
  }

  #raised(conversation: Conversation<RequestId>, requested: Privilege, reply: IpmiReply, now: Instant): void {
    const code = reply.completionCode;
    // Some BMCs grant less than requested, and report it only here.
    const granted = code === COMPLETED ? grantedLevel(requested, reply.data[0]) : null;
    if (granted) {
      this.#phase = { at: 'open', conversation, error: null };
      this.#signals.push({
        kind: 'opened',
        suite: conversation.channel.established.offer.suite.id,
        privilege: granted,
      });
    } else if (requested === 'administrator' && PRIVILEGE_REFUSALS.has(code)) {
      conversation.request('operator', setSessionPrivilege('operator'), now);
    } else {
      const words =
        code === COMPLETED
          ? 'the BMC grants a lower privilege'
          : completionWords(code, setSessionPrivilege(requested).codes);
      const error = new IpmiError('privilege', `the user cannot get ${requested} privilege: ${words}`, {
        completionCode: code,
      });
      this.#closeBecause(conversation, error, now);
    }
  }

  #closeBecause(conversation: Conversation<RequestId>, error: IpmiError | null, now: Instant): void {
    const dropped = conversation.drop();
    if (dropped.length > 0) this.#failAll(dropped, error ?? notOpen());
    this.#phase = { at: 'closing', conversation, error };
    conversation.request('close', closeSession(conversation.channel.established.bmcSessionId), now, CLOSE_TRIES);
  }

  #lost(conversation: Conversation<RequestId>, id: RequestId, ignored: string, now: Instant): void {
    if (id === 'close') {
      this.#end(this.#phase.at === 'closing' ? this.#phase.error : null);
      return;
    }
    const why = ignored === '' ? '' : ` (the last packet was ignored: ${ignored})`;
    const error = new IpmiError('vanished', `the BMC stopped replying${why}`);
    this.#failAll([id, ...conversation.drop()], error);
    // The BMC may still receive our packets even though its replies are lost.
    const { bmcSessionId } = conversation.channel.established;
    conversation.request('close', closeSession(bmcSessionId), now, 1);
    conversation.drop();
    this.#end(error);
  }

  #failAll(ids: readonly RequestId[], error: IpmiError): void {
    for (const id of ids) if (typeof id === 'number') this.#signals.push({ kind: 'failed', id, error });
  }

  #end(error: IpmiError | null): void {
    this.#phase = { at: 'ended' };
    this.#signals.push({ kind: 'ended', error });
  }

  #reaction(): Reaction {
    const reaction = { send: this.#send, signals: this.#signals, wakeAt: this.#wakeAt() };
    this.#send = [];
    this.#signals = [];
    return reaction;
  }

  #wakeAt(): Instant | null {
    if (this.#phase.at === 'ended') return null;
    return this.#phase.at === 'opening' ? this.#phase.opening.wakeAt : this.#phase.conversation.wakeAt;
  }
}

const notOpen = (): IpmiError => new IpmiError('closed', 'the session with the BMC is closed');

/** Null: the level is too low to be useful. */
function grantedLevel(requested: Privilege, level = PRIVILEGE[requested] as number): Privilege | null {
  if (level < PRIVILEGE.operator) return null;
  return level < PRIVILEGE.administrator ? 'operator' : requested;
}
