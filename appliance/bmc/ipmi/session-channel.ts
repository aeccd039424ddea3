// The packets of an established session: numbered and sealed when sent, verified and decrypted when received.

import type { IpmiPacket, RmcpPlusPacket } from '../../codecs/ipmi/packet.ts';
import { openPacket, sealPacket } from '../../codecs/ipmi/sealed-packet.ts';
import type { Established } from './handshake.ts';

/** IPMI v2.0 §6.12.13. */
const WINDOW = 16;
const VECTOR_BYTES = 16;
const SEQUENCE_LIMIT = 2 ** 32;

export type Random = (bytes: number) => Uint8Array;

export class SessionChannel {
  readonly established: Established;
  readonly #random: Random;
  #sent = 0;
  /** The highest sequence number received, and a bit mask of the sixteen before it. */
  #highest: number | null = null;
  #seen = 0;

  constructor(established: Established, random: Random) {
    this.established = established;
    this.#random = random;
  }

  /** Every packet has its own number, retransmissions too; 0 means "no session" and is skipped. */
  seal(payloadType: number, payload: Uint8Array): Uint8Array {
    this.#sent = (this.#sent % (SEQUENCE_LIMIT - 1)) + 1;
    const { offer, keys, bmcSessionId } = this.established;
    return sealPacket(offer.suite, keys, {
      payloadType,
      sessionId: bmcSessionId,
      sequence: this.#sent,
      payload,
      initialVector: this.#random(VECTOR_BYTES),
    });
  }

  isOurs(packet: IpmiPacket): packet is RmcpPlusPacket {
    return packet.kind === 'rmcp-plus' && packet.sessionId === this.established.consoleSessionId;
  }

  /** Throws IpmiDecodeError for a packet that is not authentic. Null: authentic, but a duplicate or far out of order. */
  open(packet: RmcpPlusPacket): Uint8Array | null {
    const { offer, keys } = this.established;
    const payload = openPacket(offer.suite, keys, packet);
    return this.#isNew(packet.sequence) ? payload : null;
  }

  #isNew(sequence: number): boolean {
    if (this.#highest === null) {
      this.#highest = sequence;
      this.#seen = 1;
      return true;
    }
    const ahead = sequence - this.#highest;
    if (ahead > WINDOW || ahead < -WINDOW) return false;
    if (ahead > 0) {
      this.#seen = ((this.#seen << ahead) | 1) & (2 ** (WINDOW + 1) - 1);
      this.#highest = sequence;
      return true;
    }
    const bit = 1 << -ahead;
    if ((this.#seen & bit) !== 0) return false;
    this.#seen |= bit;
    return true;
  }
}
