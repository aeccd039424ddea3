// The BMC's genuine side of a handshake, packet by packet, for tests of single steps.

import type { Offer } from '../../../appliance/bmc/ipmi/handshake.ts';
import { type Login, parseLogin } from '../../../appliance/bmc/ipmi/login.ts';
import { concatBytes, uint32Bytes } from '../../../appliance/codecs/ipmi/bytes.ts';
import { type CipherSuite, SUITE_17 } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { encodeAlgorithms } from '../../../appliance/codecs/ipmi/open-session.ts';
import { decodePacket, encodeHandshake, PAYLOAD } from '../../../appliance/codecs/ipmi/packet.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN } from './simulator/simulated-bmc.ts';
import { SimulatedSession } from './simulator/simulated-session.ts';

export const LOGIN: Login = mustParse(
  parseLogin({ userName: ADMIN.name, password: new Secret(ADMIN.password), bmcKey: null }),
);

export const OFFER: Offer = { suite: SUITE_17, privilege: 'administrator' };

/** The three genuine replies of a BMC in a handshake. */
export class HandshakePeer {
  readonly session: SimulatedSession;

  constructor(suite: CipherSuite, consoleSessionId: number) {
    this.session = new SimulatedSession(suite, consoleSessionId, 0x42);
  }

  answer(sent: Uint8Array): Uint8Array {
    const packet = decodePacket(sent);
    if (packet.kind !== 'rmcp-plus') throw new Error(`a ${packet.kind} packet in a handshake`);
    const { payload, payloadType } = packet;
    const head = Uint8Array.of(payload[0] ?? 0, 0, 0, 0);
    if (payloadType === PAYLOAD.openSessionRequest) {
      const ids = [uint32Bytes(this.session.consoleSessionId), uint32Bytes(this.session.bmcSessionId)];
      return encodeHandshake(
        PAYLOAD.openSessionResponse,
        concatBytes(head, ...ids, encodeAlgorithms(this.session.suite)),
      );
    }
    const content =
      payloadType === PAYLOAD.rakp1 ? this.session.onRakp1(payload, () => ADMIN) : this.session.onRakp3(payload, null);
    if (!(content instanceof Uint8Array)) throw new Error(`refused: ${content}`);
    return encodeHandshake(payloadType + 1, concatBytes(head, content));
  }
}
