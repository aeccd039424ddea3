// Derives again, bit for bit, every value that an independent client and server agreed on.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SUITE_3, SUITE_17 } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { IpmiDecodeError, IpmiEncodeError } from '../../../appliance/codecs/ipmi/errors.ts';
import { decodePacket, encodeRmcpPlus } from '../../../appliance/codecs/ipmi/packet.ts';
import { openPacket, sealPacket } from '../../../appliance/codecs/ipmi/sealed-packet.ts';
import {
  decryptPayload,
  encryptPayload,
  type KeyExchange,
  packetCode,
  paddedKey,
  rakp2Code,
  rakp3Code,
  rakp4Value,
  sameCode,
  sessionKeys,
} from '../../../appliance/codecs/ipmi/session-crypto.ts';
import vectors from '../../captures/ipmi/rakp-vectors.json' with { type: 'json' };

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

type Vector = (typeof vectors.exchanges)[number] & { readonly kg?: string };

const exchangeOf = (vector: Vector): KeyExchange => ({
  consoleSessionId: Buffer.from(vector.SIDm, 'hex').readUInt32LE(),
  bmcSessionId: Buffer.from(vector.SIDc, 'hex').readUInt32LE(),
  consoleRandom: bytes(vector.Rm),
  bmcRandom: bytes(vector.Rc),
  bmcGuid: bytes(vector.guid),
  role: Number.parseInt(vector.role, 16),
  userName: text(vector.user),
});

const suiteOf = (vector: Vector) => (vector.suite === 17 ? SUITE_17 : SUITE_3);

describe.each<Vector>(vectors.exchanges)('suite $suite, BMC session $SIDc, role $role, BMC key $kg', (vector) => {
  const suite = suiteOf(vector);
  const exchange = exchangeOf(vector);
  const password = paddedKey(text(vector.pass), 'password');
  const sessionSecret = vector.kg === undefined ? password : paddedKey(text(vector.kg), 'Kg');

  it('computes the codes of RAKP 2 and 3 as both peers did', () => {
    expect(hex(rakp2Code(suite, password, exchange))).toBe(vector.rakp2);
    expect(hex(rakp3Code(suite, password, exchange))).toBe(vector.rakp3);
  });

  it('derives the session keys and the value of RAKP 4', () => {
    const keys = sessionKeys(suite, sessionSecret, exchange);
    expect({ sik: hex(keys.sik), k1: hex(keys.k1), k2: hex(keys.k2) }).toEqual({
      sik: vector.sik,
      k1: vector.k1,
      k2: vector.k2,
    });
    expect(hex(rakp4Value(suite, keys.sik, exchange))).toBe(vector.rakp4);
  });

  it('applies a BMC key to the session keys and to nothing before them', () => {
    const withKg = sessionKeys(suite, paddedKey(text('another key'), 'Kg'), exchange);
    expect(hex(withKg.sik)).not.toBe(vector.sik);
    expect(hex(rakp2Code(suite, password, exchange))).toBe(vector.rakp2);
  });
});

describe('a sealed packet', () => {
  const [first] = vectors.exchanges;
  if (!first) throw new Error('the vectors are empty');
  const keys = sessionKeys(SUITE_3, paddedKey(text(first.pass), 'password'), exchangeOf(first));
  const { session_packet_without_rmcp: signed, session_authcode: code } = vectors.sealed_packet;
  const captured = bytes(`0600ff07${signed}${code}`);

  it('opens a packet that ipmitool sealed', () => {
    const packet = decodePacket(captured);
    if (packet.kind !== 'rmcp-plus') throw new Error('not RMCP+');
    expect(hex(openPacket(SUITE_3, keys, packet))).toBe('2018c881043b043c');
  });

  it('is sealed to the same bytes with the same initialization vector', () => {
    const sealed = sealPacket(SUITE_3, keys, {
      payloadType: 0,
      sessionId: 2,
      sequence: 3,
      payload: bytes('2018c881043b043c'),
      initialVector: captured.subarray(16, 32),
    });
    expect(hex(sealed)).toBe(hex(captured));
  });

  it.each([
    [
      'rejects a packet that is authenticated and not encrypted',
      { encrypted: false, authenticated: true },
      /not encrypted/,
    ],
    [
      'rejects a packet that is encrypted and not authenticated',
      { encrypted: true, authenticated: false },
      /not authenticated/,
    ],
    ['rejects a packet that is neither', { encrypted: false, authenticated: false }, /not authenticated/],
  ])('%s', (_, protection, reason) => {
    // The plaintext does not matter: the payload is encrypted, so that it would decrypt if it were not rejected.
    const payload = encryptPayload(keys.k2, captured.subarray(16, 32), bytes('2018c881043b043c'));
    const content = encodeRmcpPlus({ payloadType: 0, sessionId: 2, sequence: 3, ...protection }, payload);
    const padding = (6 - (content.length % 4)) % 4;
    const signed = Uint8Array.from([...content, ...Array(padding).fill(0xff), padding, 7]);
    const sealed = Uint8Array.from([...bytes('0600ff07'), ...signed, ...packetCode(SUITE_3, keys.k1, signed)]);
    expect(() => {
      const packet = decodePacket(sealed);
      if (packet.kind !== 'rmcp-plus') throw new Error('not RMCP+');
      openPacket(SUITE_3, keys, packet);
    }).toThrow(reason);
  });

  it('is rejected after any single-bit change after the RMCP header', () => {
    for (let bit = 32; bit < captured.length * 8; bit++) {
      const changed = Uint8Array.from(captured);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => {
        const packet = decodePacket(changed);
        if (packet.kind !== 'rmcp-plus') throw new IpmiDecodeError('kind', 0, 'is another');
        openPacket(SUITE_3, keys, packet);
      }).toThrow(IpmiDecodeError);
    }
  });
});

describe('payload encryption', () => {
  const key = new Uint8Array(32).fill(7);

  it('round-trips payloads of any length, in whole blocks', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        (plain, vector) => {
          const encrypted = encryptPayload(key, vector, plain);
          expect(encrypted.length % 16).toBe(0);
          expect(hex(decryptPayload(key, encrypted))).toBe(hex(plain));
        },
      ),
    );
  });

  it('decrypts arbitrary bytes or raises a decode error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (junk) => {
        try {
          decryptPayload(key, junk);
        } catch (error) {
          expect(error).toBeInstanceOf(IpmiDecodeError);
        }
      }),
    );
  });
});

describe('codes and keys', () => {
  it('treats codes of different lengths as different', () => {
    expect(sameCode(bytes('0102'), bytes('010203'))).toBe(false);
    expect(sameCode(bytes('0102'), bytes('0102'))).toBe(true);
    expect(sameCode(bytes('0102'), bytes('0103'))).toBe(false);
  });

  it('does not truncate a key that is too long', () => {
    expect(() => paddedKey(new Uint8Array(21), 'password')).toThrow(IpmiEncodeError);
  });
});
