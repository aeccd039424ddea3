// IPMI v2.0 §13.15: Open Session and RAKP, as a pure step: (state, packet) → next state.
//
//   open-session ──Open Session Response──▶ rakp-2 ──RAKP 2──▶ rakp-4 ──RAKP 4──▶ established
//
// An unexpected packet is ignored, never an error: anyone can send us packets. A packet with our session id and our tag that
// fails verification ends the attempt.

import type { CipherSuite } from '../../codecs/ipmi/cipher-suite.ts';
import { PRIVILEGE, type Privilege } from '../../codecs/ipmi/commands/session-commands.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import {
  type Algorithms,
  decodeOpenSessionResponse,
  encodeOpenSessionRequest,
} from '../../codecs/ipmi/open-session.ts';
import { decodePacket, encodeHandshake, PAYLOAD } from '../../codecs/ipmi/packet.ts';
import { decodeRakp2, decodeRakp4, encodeRakp1, encodeRakp3 } from '../../codecs/ipmi/rakp-messages.ts';
import {
  type KeyExchange,
  rakp2Code,
  rakp3Code,
  rakp4Value,
  type SessionKeys,
  sameCode,
  sessionKeys,
} from '../../codecs/ipmi/session-crypto.ts';
import { INVALID_CHECK_VALUE, type RefusalKind, refusalOf } from '../../codecs/ipmi/status-code.ts';
import type { Login } from './login.ts';

export interface Offer {
  readonly suite: CipherSuite;
  readonly privilege: Privilege;
}

/** New for every attempt, so that a late reply to an earlier attempt does not match. */
export interface AttemptSeed {
  readonly tag: number;
  readonly consoleSessionId: number;
  readonly consoleRandom: Uint8Array;
}

interface Attempt {
  readonly offer: Offer;
  readonly seed: AttemptSeed;
  readonly login: Login;
}

export interface Established {
  readonly offer: Offer;
  readonly keys: SessionKeys;
  readonly consoleSessionId: number;
  readonly bmcSessionId: number;
}

export type Handshake =
  | (Attempt & { readonly at: 'open-session' })
  | (Attempt & { readonly at: 'rakp-2'; readonly bmcSessionId: number })
  | (Attempt & { readonly at: 'rakp-4'; readonly exchange: KeyExchange; readonly keys: SessionKeys });

export interface HandshakeRefusal {
  readonly at: Handshake['at'];
  readonly kind: RefusalKind | 'other-algorithms' | 'unauthenticated' | 'bmc-key';
  readonly words: string;
}

export type HandshakeStep =
  | { readonly kind: 'ignored'; readonly because: string }
  | { readonly kind: 'continued'; readonly handshake: Handshake; readonly send: Uint8Array }
  | { readonly kind: 'established'; readonly established: Established }
  | { readonly kind: 'refused'; readonly refusal: HandshakeRefusal; readonly send: Uint8Array | null };

/** Look up the user by name only, not by name and privilege. */
const NAME_ONLY_LOOKUP = 0x10;

const ignored = (because: string): HandshakeStep => ({ kind: 'ignored', because });

export function beginHandshake(
  offer: Offer,
  seed: AttemptSeed,
  login: Login,
): { handshake: Handshake; send: Uint8Array } {
  // The same privilege here and in RAKP 1, never "highest available": several BMCs (Supermicro X8, Dell C5220, Intel
  // S5500, OpenIPMI's simulator) put the value from here into their hashes.
  const request = encodeOpenSessionRequest({
    tag: seed.tag,
    privilege: PRIVILEGE[offer.privilege],
    consoleSessionId: seed.consoleSessionId,
    suite: offer.suite,
  });
  return {
    handshake: { at: 'open-session', offer, seed, login },
    send: encodeHandshake(PAYLOAD.openSessionRequest, request),
  };
}

const EXPECTED = {
  'open-session': PAYLOAD.openSessionResponse,
  'rakp-2': PAYLOAD.rakp2,
  'rakp-4': PAYLOAD.rakp4,
} as const;

export function continueHandshake(handshake: Handshake, bytes: Uint8Array): HandshakeStep {
  try {
    const packet = decodePacket(bytes);
    if (packet.kind !== 'rmcp-plus') return ignored(`a ${packet.kind} packet during ${handshake.at}`);
    if (packet.payloadType !== EXPECTED[handshake.at] || packet.sessionId !== 0) {
      return ignored(`payload type ${packet.payloadType} of session ${packet.sessionId} during ${handshake.at}`);
    }
    switch (handshake.at) {
      case 'open-session':
        return onOpenSessionResponse(handshake, packet.payload);
      case 'rakp-2':
        return onRakp2(handshake, packet.payload);
      case 'rakp-4':
        return onRakp4(handshake, packet.payload);
    }
  } catch (error) {
    if (error instanceof IpmiDecodeError) return ignored(error.message);
    throw error;
  }
}

type At<Name extends Handshake['at']> = Extract<Handshake, { readonly at: Name }>;

function onOpenSessionResponse(handshake: At<'open-session'>, payload: Uint8Array): HandshakeStep {
  const response = decodeOpenSessionResponse(payload);
  const { offer, seed, login } = handshake;
  if (response.tag !== seed.tag) return ignored('an Open Session Response to another request');
  if (!response.accepted) return refusedBy(handshake, response.status);
  if (response.consoleSessionId !== seed.consoleSessionId)
    return ignored('an Open Session Response of another session');
  const refusal = algorithmRefusal(offer.suite, response.algorithms);
  if (refusal) return { kind: 'refused', refusal, send: null };
  const { bmcSessionId } = response;
  const rakp1 = encodeRakp1({
    tag: seed.tag,
    bmcSessionId,
    consoleRandom: seed.consoleRandom,
    role: roleOf(offer),
    userName: login.userName,
  });
  return {
    kind: 'continued',
    handshake: { at: 'rakp-2', offer, seed, login, bmcSessionId },
    send: encodeHandshake(PAYLOAD.rakp1, rakp1),
  };
}

function onRakp2(handshake: At<'rakp-2'>, payload: Uint8Array): HandshakeStep {
  const { offer, seed, login, bmcSessionId } = handshake;
  const message = decodeRakp2(payload, offer.suite.keyExchangeBytes);
  if (message.tag !== seed.tag) return ignored('a RAKP 2 to another request');
  if (!message.accepted) return refusedBy(handshake, message.status);
  if (message.consoleSessionId !== seed.consoleSessionId) return ignored('a RAKP 2 of another session');
  const { bmcRandom, bmcGuid, code } = message;
  const exchange: KeyExchange = {
    consoleSessionId: seed.consoleSessionId,
    bmcSessionId,
    consoleRandom: seed.consoleRandom,
    bmcRandom: Uint8Array.from(bmcRandom),
    bmcGuid: Uint8Array.from(bmcGuid),
    role: roleOf(offer),
    userName: login.userName,
  };
  const rakp3 = (status: number, checkValue: Uint8Array): Uint8Array =>
    encodeHandshake(PAYLOAD.rakp3, encodeRakp3(seed.tag, status, bmcSessionId, checkValue));
  const passwordKey = login.passwordKey.reveal();
  if (!sameCode(code, rakp2Code(offer.suite, passwordKey, exchange))) {
    return {
      kind: 'refused',
      refusal: { at: handshake.at, kind: 'password', words: "the BMC's key exchange code does not match the password" },
      send: rakp3(INVALID_CHECK_VALUE, new Uint8Array()),
    };
  }
  const keys = sessionKeys(offer.suite, login.bmcKey.reveal(), exchange);
  return {
    kind: 'continued',
    handshake: { at: 'rakp-4', offer, seed, login, exchange, keys },
    send: rakp3(0, rakp3Code(offer.suite, passwordKey, exchange)),
  };
}

function onRakp4(handshake: At<'rakp-4'>, payload: Uint8Array): HandshakeStep {
  const { offer, seed, login, exchange, keys } = handshake;
  const message = decodeRakp4(payload, offer.suite.integrityBytes);
  if (message.tag !== seed.tag) return ignored('a RAKP 4 to another request');
  if (!message.accepted) return refusedBy(handshake, message.status);
  if (message.consoleSessionId !== seed.consoleSessionId) return ignored('a RAKP 4 of another session');
  if (!sameCode(message.integrityValue, rakp4Value(offer.suite, keys.sik, exchange))) {
    const words = login.hasBmcKey
      ? 'the BMC has another key (Kg)'
      : 'the BMC requires a key (Kg), and none is configured';
    return { kind: 'refused', refusal: { at: handshake.at, kind: 'bmc-key', words }, send: null };
  }
  return { kind: 'established', established: establishedBy(handshake) };
}

/** The session as it is if the BMC accepted our RAKP 3: enough to close it when RAKP 4 does not arrive. */
export const establishedBy = ({ offer, keys, seed, exchange }: At<'rakp-4'>): Established => ({
  offer,
  keys,
  consoleSessionId: seed.consoleSessionId,
  bmcSessionId: exchange.bmcSessionId,
});

const roleOf = ({ privilege }: Offer): number => PRIVILEGE[privilege] | NAME_ONLY_LOOKUP;

const refusedBy = ({ at }: Handshake, status: number): HandshakeStep => ({
  kind: 'refused',
  refusal: { at, ...refusalOf(status) },
  send: null,
});

function algorithmRefusal(requested: CipherSuite, offered: Algorithms): HandshakeRefusal | null {
  const at = 'open-session';
  if (offered.authentication === 0 || offered.integrity === 0 || offered.confidentiality === 0) {
    const words = 'the BMC offers an unauthenticated or unencrypted session instead of the requested protected one';
    return { at, kind: 'unauthenticated', words };
  }
  const same =
    offered.authentication === requested.authentication &&
    offered.integrity === requested.integrity &&
    offered.confidentiality === requested.confidentiality;
  return same ? null : { at, kind: 'other-algorithms', words: 'the BMC offers other algorithms than requested' };
}
