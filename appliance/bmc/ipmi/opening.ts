// The opening phase of a session: ends with keys, or with a reason for the failure.

import { ByteReader } from '../../codecs/ipmi/bytes.ts';
import { closeSession, getChannelAuthentication } from '../../codecs/ipmi/commands/session-commands.ts';
import { COMPLETED } from '../../codecs/ipmi/completion-code.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeReply, encodeRequest } from '../../codecs/ipmi/message.ts';
import { decodePacket, encodeSessionless, PAYLOAD } from '../../codecs/ipmi/packet.ts';
import { RANDOM_BYTES } from '../../codecs/ipmi/rakp-messages.ts';
import type { Instant } from '../../domain/instant.ts';
import {
  beginHandshake,
  continueHandshake,
  type Established,
  establishedBy,
  type Handshake,
  type HandshakeRefusal,
  type HandshakeStep,
  type Offer,
} from './handshake.ts';
import { IpmiError } from './ipmi-error.ts';
import type { Login } from './login.ts';
import { EVERY_OFFER, negotiationMayHelp, type OfferOutcome, offersAfter, type Tried } from './negotiation.ts';
import { type Random, SessionChannel } from './session-channel.ts';
import { type SessionTimings, waitEnds } from './timings.ts';

export interface OpeningSettings {
  readonly login: Login;
  readonly timings: SessionTimings;
  readonly random: Random;
  /** The suite that this BMC accepted last: it is tried first, and the others only if it fails. */
  readonly rememberedSuite?: number | null;
}

type Stage =
  | { readonly at: 'capabilities'; readonly requestIpmi2: boolean }
  | { readonly at: 'handshake'; readonly handshake: Handshake; readonly answered: boolean };

export type OpeningResult =
  | { readonly established: Established; readonly error: null }
  | { readonly established: null; readonly error: IpmiError };

export class SessionOpening {
  readonly #settings: OpeningSettings;
  readonly #send: (bytes: Uint8Array) => void;
  #stage: Stage = { at: 'capabilities', requestIpmi2: true };
  #offers: readonly Offer[] = EVERY_OFFER;
  #tried: Tried[] = [];
  /** The current offer is the remembered one, without a negotiation. */
  #fromMemory = false;
  /** Tag of the next attempt. It begins at random: a refusal has nothing else that shows what it answers. */
  #tag: number;
  #waits = 0;
  #wakeAt: Instant;
  #lastIgnored = '';
  #result: OpeningResult | null = null;

  constructor(settings: OpeningSettings, send: (bytes: Uint8Array) => void, now: Instant) {
    this.#settings = settings;
    this.#send = send;
    this.#wakeAt = now;
    this.#tag = new ByteReader(settings.random(1)).uint8('tag');
    const remembered = EVERY_OFFER.filter(({ suite }) => suite.id === settings.rememberedSuite);
    if (remembered.length === 0) {
      this.#requestCapabilities(now);
    } else {
      this.#fromMemory = true;
      this.#offers = remembered;
      this.#attempt(now);
    }
  }

  get result(): OpeningResult | null {
    return this.#result;
  }

  get wakeAt(): Instant {
    return this.#wakeAt;
  }

  receive(bytes: Uint8Array, now: Instant): void {
    if (this.#result) return;
    if (this.#stage.at === 'capabilities') this.#onCapabilities(this.#stage.requestIpmi2, bytes, now);
    else this.#onHandshake(this.#stage.handshake, continueHandshake(this.#stage.handshake, bytes), now);
  }

  wake(now: Instant): void {
    if (this.#result || now < this.#wakeAt) return;
    if (this.#fromMemory && this.#stage.at === 'handshake' && !this.#stage.answered) {
      this.#negotiate(now);
      return;
    }
    this.#waits += 1;
    if (this.#waits < this.#settings.timings.tries) {
      if (this.#stage.at === 'capabilities') this.#requestCapabilities(now);
      // Open Session and RAKP messages cannot be retransmitted one by one: the BMC may have advanced. Start a new attempt.
      else this.#attempt(now);
      return;
    }
    if (this.#stage.at === 'capabilities') {
      const hint = 'check its address, cable and VLAN, and that IPMI over LAN is enabled';
      this.#fail(new IpmiError('unreachable', `no BMC replies${this.#ignoredText()}; ${hint}`));
    } else if (this.#stage.answered) {
      this.abandon();
      this.#fail(
        new IpmiError('vanished', `the BMC stopped replying while the session was opened${this.#ignoredText()}`),
      );
    } else {
      this.#onRefused({ at: 'open-session', kind: 'silence', words: `no valid reply${this.#ignoredText()}` }, now);
    }
  }

  /** Frees the BMC's session slot if the BMC may have accepted our RAKP 3. */
  abandon(): void {
    if (this.#stage.at !== 'handshake' || this.#stage.handshake.at !== 'rakp-4') return;
    const channel = new SessionChannel(establishedBy(this.#stage.handshake), this.#settings.random);
    const request = encodeRequest({ ...closeSession(channel.established.bmcSessionId), sequence: 0 });
    this.#send(channel.seal(PAYLOAD.ipmi, request));
  }

  /** The remembered suite no longer works, or a packet was lost: start a full negotiation. */
  #negotiate(now: Instant): void {
    this.#fromMemory = false;
    this.#offers = EVERY_OFFER;
    this.#tried = [];
    this.#waits = 0;
    this.#stage = { at: 'capabilities', requestIpmi2: true };
    this.#requestCapabilities(now);
  }

  #requestCapabilities(now: Instant): void {
    const requestIpmi2 = this.#stage.at === 'capabilities' && this.#stage.requestIpmi2;
    const command = getChannelAuthentication('administrator', requestIpmi2);
    this.#send(encodeSessionless(encodeRequest({ ...command, sequence: requestIpmi2 ? 0 : 1 })));
    this.#wakeAt = waitEnds(this.#settings.timings, this.#waits, now);
  }

  #onCapabilities(requestedIpmi2: boolean, bytes: Uint8Array, now: Instant): void {
    const command = getChannelAuthentication('administrator', requestedIpmi2);
    try {
      const packet = decodePacket(bytes);
      if (packet.kind !== 'sessionless') return;
      const reply = decodeReply(packet.message);
      if (reply.command !== command.command || reply.sequence !== (requestedIpmi2 ? 0 : 1) || !reply.checksumsRight)
        return;
      this.#waits = 0;
      if (reply.completionCode !== COMPLETED && requestedIpmi2) {
        this.#stage = { at: 'capabilities', requestIpmi2: false };
        this.#requestCapabilities(now);
        return;
      }
      // The IPMI 1.5 form of the request cannot reveal IPMI 2.0 support: Open Session will show it.
      if (requestedIpmi2 && !command.decode(reply.data).ipmi2) {
        this.#fail(new IpmiError('too-old', 'the BMC supports IPMI 1.5 only, whose sessions have no protection'));
        return;
      }
      this.#attempt(now);
    } catch (error) {
      if (!(error instanceof IpmiDecodeError)) throw error;
      this.#lastIgnored = error.message;
    }
  }

  #attempt(now: Instant): void {
    this.abandon();
    const [offer] = this.#offers;
    if (!offer) throw new Error('no offer left for an attempt');
    const { random, login, timings } = this.#settings;
    const { handshake, send } = beginHandshake(
      offer,
      {
        tag: this.#tag,
        consoleSessionId: new ByteReader(random(4)).uint32('session id') || 1,
        consoleRandom: random(RANDOM_BYTES),
      },
      login,
    );
    this.#tag = (this.#tag + 1) & 0xff;
    const answered = this.#stage.at === 'handshake' && this.#stage.answered;
    this.#stage = { at: 'handshake', handshake, answered };
    this.#wakeAt = waitEnds(timings, this.#waits, now);
    this.#send(send);
  }

  #onHandshake(handshake: Handshake, step: HandshakeStep, now: Instant): void {
    switch (step.kind) {
      case 'ignored':
        this.#lastIgnored = step.because;
        return;
      case 'continued':
        this.#stage = { at: 'handshake', handshake: step.handshake, answered: true };
        this.#wakeAt = waitEnds(this.#settings.timings, this.#waits, now);
        this.#send(step.send);
        return;
      case 'established':
        this.#result = { established: step.established, error: null };
        return;
      case 'refused':
        this.#stage = { at: 'handshake', handshake, answered: true };
        if (step.send) this.#send(step.send);
        if (isOutOfStep(step.refusal) && this.#waits + 1 < this.#settings.timings.tries) {
          this.#waits += 1;
          this.#attempt(now);
        } else {
          this.#onRefused(step.refusal, now);
        }
        return;
    }
  }

  #onRefused(outcome: OfferOutcome, now: Instant): void {
    if (this.#fromMemory && negotiationMayHelp(outcome)) {
      this.#negotiate(now);
      return;
    }
    const [offer, ...left] = this.#offers;
    if (!offer) throw new Error('no offer for this refusal');
    this.#tried.push({ offer, outcome });
    const offers = offersAfter(left, this.#tried);
    if (offers instanceof IpmiError) {
      this.#fail(offers);
      return;
    }
    this.#offers = offers;
    this.#waits = 0;
    this.#lastIgnored = '';
    if (this.#stage.at === 'handshake') this.#stage = { ...this.#stage, answered: false };
    this.#attempt(now);
  }

  #fail(error: IpmiError): void {
    this.#result = { established: null, error };
  }

  #ignoredText(): string {
    return this.#lastIgnored === '' ? '' : ` (the last packet was ignored: ${this.#lastIgnored})`;
  }
}

/**
 * A duplicate or late RAKP 1 makes a BMC choose a new random number, and our RAKP 3 no longer matches. That is not a wrong
 * password: its RAKP 2 has already proved that it knows ours.
 */
const isOutOfStep = ({ at, kind }: HandshakeRefusal): boolean =>
  (at === 'rakp-4' && kind === 'password') || (at !== 'open-session' && kind === 'protocol');
