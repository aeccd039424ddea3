// IPMI v2.0 §13.28.4: session packets, always encrypted and authenticated. The authentication code is verified before
// decryption, so that a forger learns nothing from padding errors.

import { concatBytes } from './bytes.ts';
import type { CipherSuite } from './cipher-suite.ts';
import { IpmiDecodeError } from './errors.ts';
import { encodeRmcpPlus, type RmcpPlusPacket } from './packet.ts';
import { encodeRmcp, RMCP_BYTES } from './rmcp.ts';
import { decryptPayload, encryptPayload, packetCode, type SessionKeys, sameCode } from './session-crypto.ts';

const PAD = 0xff;
const NEXT_HEADER = 0x07;
/** Pad length and next header. */
const TRAILER_FIXED_BYTES = 2;
const ALIGNMENT = 4;

export interface Outgoing {
  readonly payloadType: number;
  readonly sessionId: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** Sixteen random bytes. */
  readonly initialVector: Uint8Array;
}

export function sealPacket(suite: CipherSuite, keys: SessionKeys, outgoing: Outgoing): Uint8Array {
  const content = encodeRmcpPlus(
    { ...outgoing, encrypted: true, authenticated: true },
    encryptPayload(keys.k2, outgoing.initialVector, outgoing.payload),
  );
  const padCount = (ALIGNMENT - ((content.length + TRAILER_FIXED_BYTES) % ALIGNMENT)) % ALIGNMENT;
  const signed = concatBytes(content, new Uint8Array(padCount).fill(PAD), Uint8Array.of(padCount, NEXT_HEADER));
  return encodeRmcp('ipmi', concatBytes(signed, packetCode(suite, keys.k1, signed)));
}

/** Returns the decrypted payload; throws an error that names what is wrong. */
export function openPacket(suite: CipherSuite, keys: SessionKeys, packet: RmcpPlusPacket): Uint8Array {
  const { afterRmcp, trailer } = packet;
  const codeAt = afterRmcp.length - suite.integrityBytes;
  if (!packet.authenticated)
    throw new IpmiDecodeError('payload type', RMCP_BYTES + 1, 'the packet is not authenticated');
  if (trailer.length < suite.integrityBytes + TRAILER_FIXED_BYTES) {
    throw new IpmiDecodeError('session trailer', RMCP_BYTES + afterRmcp.length, 'the packet ends before it');
  }
  if (!sameCode(afterRmcp.subarray(codeAt), packetCode(suite, keys.k1, afterRmcp.subarray(0, codeAt)))) {
    throw new IpmiDecodeError('authentication code', RMCP_BYTES + codeAt, 'does not match this packet and session');
  }
  if (!packet.encrypted) throw new IpmiDecodeError('payload type', RMCP_BYTES + 1, 'the packet is not encrypted');
  return decryptPayload(keys.k2, packet.payload);
}
