// Serial over LAN as a pure state machine (IPMI v2.0 §15.11): received characters are delivered once, typed characters are
// retransmitted until the BMC acknowledges them.

import { concatBytes } from '../../codecs/ipmi/bytes.ts';
import { encodeSol, LAST_PACKET_NUMBER, type SolFromBmc } from '../../codecs/ipmi/sol-packet.ts';
import type { Instant } from '../../domain/instant.ts';

const NOTHING = new Uint8Array();
const SOL_HEADER_BYTES = 4;
/** Some BMCs that announce larger packets lose them. */
const LARGEST_CHUNK = 200;
const SMALLEST_SANE_SIZE = 16;
const LARGEST_SANE_SIZE = 1024;
/** A minute and a half on a serial line: nobody types that much. */
const MOST_TYPED = 1024 * 1024;

export interface SolTimings {
  readonly repeatAfter: number;
  readonly tries: number;
}

interface InFlight {
  readonly number: number;
  readonly characters: Uint8Array;
  readonly tried: number;
  readonly wakeAt: Instant;
}

export interface SolReaction {
  readonly send: readonly Uint8Array[];
  readonly deliver: Uint8Array;
  /** Why the console has ended. */
  readonly ended: string | null;
}

/** Usually because another client wants the console. */
export const DEACTIVATED = 'the BMC deactivated the console';

export class SolStream {
  readonly #timings: SolTimings;
  readonly #chunk: number;
  #lastNumber = 0;
  #lastLength = 0;
  #nextNumber = 1;
  #typed: Uint8Array = NOTHING;
  #inFlight: InFlight | null = null;

  /** `inboundBytes` is the payload size that the BMC announces; implausible values are ignored. */
  constructor(inboundBytes: number, timings: SolTimings) {
    const sane = inboundBytes >= SMALLEST_SANE_SIZE && inboundBytes <= LARGEST_SANE_SIZE;
    this.#chunk = Math.min(LARGEST_CHUNK, sane ? inboundBytes - SOL_HEADER_BYTES : LARGEST_CHUNK);
    this.#timings = timings;
  }

  get wakeAt(): Instant | null {
    return this.#inFlight?.wakeAt ?? null;
  }

  type(characters: Uint8Array, now: Instant): SolReaction {
    if (this.#typed.length + characters.length > MOST_TYPED) {
      return { send: [], deliver: NOTHING, ended: 'the input exceeds what the BMC accepts' };
    }
    this.#typed = concatBytes(this.#typed, characters);
    return { send: this.#sendNext(now), deliver: NOTHING, ended: null };
  }

  receive(packet: SolFromBmc, now: Instant): SolReaction {
    const send: Uint8Array[] = [];
    let deliver: Uint8Array = NOTHING;
    if (packet.number !== 0) {
      // A retransmission may contain more characters at its end.
      const repeated = packet.number === this.#lastNumber;
      deliver = repeated ? packet.characters.subarray(this.#lastLength) : packet.characters;
      this.#lastLength = repeated ? Math.max(this.#lastLength, packet.characters.length) : packet.characters.length;
      this.#lastNumber = packet.number;
      send.push(acknowledgement(packet.number, Math.min(packet.characters.length, 0xff)));
    }
    this.#onAcknowledged(packet);
    send.push(...this.#sendNext(now));
    return { send, deliver, ended: packet.deactivating ? DEACTIVATED : null };
  }

  wake(now: Instant): SolReaction {
    const inFlight = this.#inFlight;
    if (!inFlight || now < inFlight.wakeAt) return { send: [], deliver: NOTHING, ended: null };
    if (inFlight.tried >= this.#timings.tries) {
      return { send: [], deliver: NOTHING, ended: 'the BMC does not acknowledge the input' };
    }
    return {
      send: [this.#transmit(inFlight.number, inFlight.characters, inFlight.tried, now)],
      deliver: NOTHING,
      ended: null,
    };
  }

  #onAcknowledged(packet: SolFromBmc): void {
    const inFlight = this.#inFlight;
    // After a NACK (the port is flow-controlled, or busy) the retransmission timer sends it again.
    if (!inFlight || packet.acknowledges !== inFlight.number || packet.refused) return;
    this.#typed = concatBytes(inFlight.characters.subarray(packet.accepted), this.#typed);
    this.#inFlight = null;
  }

  #sendNext(now: Instant): Uint8Array[] {
    if (this.#inFlight || this.#typed.length === 0) return [];
    const characters = this.#typed.subarray(0, this.#chunk);
    this.#typed = this.#typed.subarray(this.#chunk);
    const number = this.#nextNumber;
    this.#nextNumber = (number % LAST_PACKET_NUMBER) + 1;
    return [this.#transmit(number, characters, 0, now)];
  }

  #transmit(number: number, characters: Uint8Array, tried: number, now: Instant): Uint8Array {
    this.#inFlight = { number, characters, tried: tried + 1, wakeAt: now + this.#timings.repeatAfter };
    return encodeSol({ number, acknowledges: 0, accepted: 0, break: false, characters });
  }
}

const acknowledgement = (number: number, accepted: number): Uint8Array =>
  encodeSol({ number: 0, acknowledges: number, accepted, break: false, characters: NOTHING });
