// The BMC's side of one session: the responder of RAKP, then sealed packets.

import { randomBytes } from 'node:crypto';
import { concatBytes, uint32Bytes } from '../../../../appliance/codecs/ipmi/bytes.ts';
import { type CipherSuite, SUITE_3, SUITE_17 } from '../../../../appliance/codecs/ipmi/cipher-suite.ts';
import type { RmcpPlusPacket } from '../../../../appliance/codecs/ipmi/packet.ts';
import { openPacket, sealPacket } from '../../../../appliance/codecs/ipmi/sealed-packet.ts';
import {
  type KeyExchange,
  paddedKey,
  rakp2Code,
  rakp3Code,
  rakp4Value,
  type SessionKeys,
  sameCode,
  sessionKeys,
} from '../../../../appliance/codecs/ipmi/session-crypto.ts';
import type { SimulatedUser } from './machine.ts';

export const GUID = Uint8Array.from(Buffer.from('a123456789abcdefa123456789abcdef', 'hex'));

export class SimulatedSession {
  readonly suite: CipherSuite;
  readonly consoleSessionId: number;
  readonly bmcSessionId: number;
  /** The level that Set Session Privilege has granted. */
  privilege = 2;
  active = false;
  user: SimulatedUser | null = null;
  #exchange: KeyExchange | null = null;
  #keys: SessionKeys | null = null;
  #sent = 0;

  constructor(suite: CipherSuite, consoleSessionId: number, bmcSessionId: number) {
    this.suite = suite;
    this.consoleSessionId = consoleSessionId;
    this.bmcSessionId = bmcSessionId;
  }

  /** RAKP 1 → RAKP 2, or a status. */
  onRakp1(payload: Uint8Array, findUser: (name: string) => SimulatedUser | undefined): number | Uint8Array {
    const role = payload[24] ?? 0;
    const userName = payload.subarray(28, 28 + (payload[27] ?? 0));
    const user = findUser(Buffer.from(userName).toString('latin1'));
    if (!user?.enabled) return 0x0d;
    if ((role & 0x0f) > user.privilege) return 0x0a;
    this.user = user;
    this.#exchange = {
      consoleSessionId: this.consoleSessionId,
      bmcSessionId: this.bmcSessionId,
      consoleRandom: Uint8Array.from(payload.subarray(8, 24)),
      bmcRandom: Uint8Array.from(randomBytes(16)),
      bmcGuid: GUID,
      role,
      userName: Uint8Array.from(userName),
    };
    const code = rakp2Code(this.suite, this.#passwordKey(), this.#exchange);
    return concatBytes(uint32Bytes(this.consoleSessionId), this.#exchange.bmcRandom, GUID, code);
  }

  /** RAKP 3 → RAKP 4, or a status; null when the console aborts. */
  onRakp3(payload: Uint8Array, bmcKey: string | null): number | Uint8Array | null {
    const exchange = this.#exchange;
    if (payload[1] !== 0) return null;
    if (!exchange || !sameCode(payload.subarray(8), rakp3Code(this.suite, this.#passwordKey(), exchange))) return 0x0f;
    const key = bmcKey === null ? this.#passwordKey() : paddedKey(Buffer.from(bmcKey), 'Kg');
    this.#keys = sessionKeys(this.suite, key, exchange);
    this.active = true;
    return concatBytes(uint32Bytes(this.consoleSessionId), rakp4Value(this.suite, this.#keys.sik, exchange));
  }

  open(packet: RmcpPlusPacket): Uint8Array {
    if (!this.#keys) throw new Error('a session without keys');
    return openPacket(this.suite, this.#keys, packet);
  }

  seal(payloadType: number, payload: Uint8Array): Uint8Array {
    if (!this.#keys) throw new Error('a session without keys');
    this.#sent += 1;
    return sealPacket(this.suite, this.#keys, {
      payloadType,
      sessionId: this.consoleSessionId,
      sequence: this.#sent,
      payload,
      initialVector: randomBytes(16),
    });
  }

  #passwordKey(): Uint8Array {
    return paddedKey(Buffer.from(this.user?.password ?? ''), 'password');
  }
}

export const suiteOf = (authentication: number, integrity: number, confidentiality: number): CipherSuite | undefined =>
  [SUITE_3, SUITE_17].find(
    (suite) =>
      suite.authentication === authentication &&
      suite.integrity === integrity &&
      suite.confidentiality === confidentiality,
  );
