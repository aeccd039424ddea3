// IPMI v2.0 §13.28 to §13.32: derives session keys from the password; authenticates and encrypts packets with them.
//
//   RAKP 2   H(Kuid; SIDm ‖ SIDc ‖ Rm ‖ Rc ‖ GUID ‖ role ‖ length ‖ name)
//   RAKP 3   H(Kuid; Rc ‖ SIDm ‖ role ‖ length ‖ name)
//   SIK      H(Kg, or Kuid when there is none; Rm ‖ Rc ‖ role ‖ length ‖ name)
//   RAKP 4   H(SIK; Rm ‖ SIDc ‖ GUID), truncated
//   K1, K2   H(SIK; 01 × 20), H(SIK; 02 × 20): twenty bytes for SHA-256 as well

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';
import { concatBytes, uint32Bytes, zeroPadded } from './bytes.ts';
import type { CipherSuite } from './cipher-suite.ts';
import { IpmiDecodeError } from './errors.ts';

/** The values that both sides have exchanged once RAKP 2 has arrived. */
export interface KeyExchange {
  readonly consoleSessionId: number;
  readonly bmcSessionId: number;
  readonly consoleRandom: Uint8Array;
  readonly bmcRandom: Uint8Array;
  readonly bmcGuid: Uint8Array;
  readonly role: number;
  readonly userName: Uint8Array;
}

export interface SessionKeys {
  readonly sik: Uint8Array;
  /** Authenticates. */
  readonly k1: Uint8Array;
  /** Encrypts, with its first 16 bytes. */
  readonly k2: Uint8Array;
}

/** Kuid and Kg: 160 bits, padded with zeros. */
export const KEY_BYTES = 20;
const AES_BYTES = 16;

export const paddedKey = (key: Uint8Array, field: string): Uint8Array => zeroPadded(key, KEY_BYTES, field);

// Keys are passed as key objects: Node also accepts raw bytes, but takes five times as long to import them on each call.

const hmac = (suite: CipherSuite, key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array => {
  const digest = createHmac(suite.hash, createSecretKey(key));
  for (const part of parts) digest.update(part);
  return new Uint8Array(digest.digest());
};

const claimedIdentity = ({ role, userName }: KeyExchange): Uint8Array =>
  concatBytes(Uint8Array.of(role, userName.length), userName);

export const rakp2Code = (suite: CipherSuite, passwordKey: Uint8Array, exchange: KeyExchange): Uint8Array =>
  hmac(
    suite,
    passwordKey,
    uint32Bytes(exchange.consoleSessionId),
    uint32Bytes(exchange.bmcSessionId),
    exchange.consoleRandom,
    exchange.bmcRandom,
    exchange.bmcGuid,
    claimedIdentity(exchange),
  );

export const rakp3Code = (suite: CipherSuite, passwordKey: Uint8Array, exchange: KeyExchange): Uint8Array =>
  hmac(suite, passwordKey, exchange.bmcRandom, uint32Bytes(exchange.consoleSessionId), claimedIdentity(exchange));

/** `bmcKey` is Kg, or the password's key if the BMC has no Kg. */
export function sessionKeys(suite: CipherSuite, bmcKey: Uint8Array, exchange: KeyExchange): SessionKeys {
  const sik = hmac(suite, bmcKey, exchange.consoleRandom, exchange.bmcRandom, claimedIdentity(exchange));
  const derive = (constant: number) => hmac(suite, sik, new Uint8Array(KEY_BYTES).fill(constant));
  return { sik, k1: derive(1), k2: derive(2) };
}

export const rakp4Value = (suite: CipherSuite, sik: Uint8Array, exchange: KeyExchange): Uint8Array =>
  hmac(suite, sik, exchange.consoleRandom, uint32Bytes(exchange.bmcSessionId), exchange.bmcGuid).subarray(
    0,
    suite.integrityBytes,
  );

export const packetCode = (suite: CipherSuite, k1: Uint8Array, signed: Uint8Array): Uint8Array =>
  hmac(suite, k1, signed).subarray(0, suite.integrityBytes);

/** Constant time: does not depend on which byte differs. */
export const sameCode = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

const aesKey = (k2: Uint8Array): KeyObject => createSecretKey(k2.subarray(0, AES_BYTES));

/** §13.29: the initialization vector, then the text padded with 01 02 03 … n and n: not PKCS #7 padding. */
export function encryptPayload(k2: Uint8Array, initialVector: Uint8Array, plain: Uint8Array): Uint8Array {
  const padCount = (AES_BYTES - ((plain.length + 1) % AES_BYTES)) % AES_BYTES;
  const pad = Uint8Array.from({ length: padCount + 1 }, (_, at) => (at < padCount ? at + 1 : padCount));
  const cipher = createCipheriv('aes-128-cbc', aesKey(k2), initialVector);
  cipher.setAutoPadding(false);
  return concatBytes(initialVector, cipher.update(plain), cipher.update(pad), cipher.final());
}

export function decryptPayload(k2: Uint8Array, encrypted: Uint8Array): Uint8Array {
  if (encrypted.length < 2 * AES_BYTES || encrypted.length % AES_BYTES !== 0) {
    throw new IpmiDecodeError(
      'encrypted payload',
      0,
      `${encrypted.length} bytes are not a multiple of the AES block size`,
    );
  }
  const decipher = createDecipheriv('aes-128-cbc', aesKey(k2), encrypted.subarray(0, AES_BYTES));
  decipher.setAutoPadding(false);
  const padded = concatBytes(decipher.update(encrypted.subarray(AES_BYTES)), decipher.final());
  const padCount = padded.at(-1) ?? 0;
  const end = padded.length - 1 - padCount;
  if (padCount >= AES_BYTES || end < 0) {
    throw new IpmiDecodeError('confidentiality pad length', padded.length - 1, `${padCount} is too large`);
  }
  for (let at = 0; at < padCount; at++) {
    if (padded[end + at] !== at + 1) {
      throw new IpmiDecodeError('confidentiality pad', end + at, `is ${padded[end + at]}, not ${at + 1}`);
    }
  }
  return padded.subarray(0, end);
}
