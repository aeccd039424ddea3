import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifyQuote } from '../../../appliance/codecs/tpm/quote.ts';
import { sizedBytes, uint16Bytes, uint32Bytes } from '../../../appliance/codecs/tpm/tpm-bytes.ts';
import type { AttestationKey } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { akOf, captured, NONCE, patched, quoteOf, SCHEMES } from './captured.ts';

const reasonOf = (result: ReturnType<typeof verifyQuote>): string => (result.ok ? 'it was accepted' : result.reason);

describe.each(SCHEMES)('a quote signed with %s', (scheme) => {
  const ak = akOf(scheme);
  const quote = { ak, ...quoteOf(scheme), nonce: NONCE };

  it('is accepted as the TPM made it', () => {
    expect(verifyQuote(quote)).toMatchObject({
      ok: true,
      value: { firmwareVersion: '2019102300163636', restartCount: 0, clock: expect.any(BigInt) },
    });
  });

  it('is refused for another request', () => {
    const nonce = patched(NONCE, 31, 0);
    expect(reasonOf(verifyQuote({ ...quote, nonce }))).toContain('its qualifying data differs');
    expect(reasonOf(verifyQuote({ ...quote, nonce: NONCE.subarray(1) }))).toContain('its qualifying data differs');
  });

  it('is refused with other PCR values', () => {
    const pcrs = { ...quote.pcrs, 7: 'ab'.repeat(32) };
    expect(reasonOf(verifyQuote({ ...quote, pcrs }))).toBe('the quote is about other PCR values');
  });

  it('is refused when a byte of the message or of the signature differs', () => {
    for (let at = 0; at < quote.message.length; at++) {
      const message = patched(quote.message, at, (quote.message[at] ?? 0) ^ 1);
      expect(reasonOf(verifyQuote({ ...quote, message }))).toBe('the quote is not signed by the attestation key');
    }
    for (let at = 0; at < quote.signature.length; at++) {
      const signature = patched(quote.signature, at, (quote.signature[at] ?? 0) ^ 1);
      expect(verifyQuote({ ...quote, signature }).ok, `byte ${at}`).toBe(false);
    }
  });

  it('is refused when it was signed by another key', () => {
    for (const other of SCHEMES.filter((name) => name !== scheme)) {
      expect(verifyQuote({ ...quote, ak: akOf(other) }).ok).toBe(false);
    }
  });

  it.each([
    ['one is missing', { ...captured.quotes.ecdsa.pcrs, 3: undefined }, 'PCR 3: is not 64 hexadecimal digits'],
    ['one is short', { ...captured.quotes.ecdsa.pcrs, 3: 'ab' }, 'PCR 3: is not 64 hexadecimal digits'],
    ['one is a number', { ...captured.quotes.ecdsa.pcrs, 3: 1 }, 'PCR 3: is not 64 hexadecimal digits'],
    [
      'there are more',
      { ...captured.quotes.ecdsa.pcrs, 8: '00'.repeat(32) },
      'pcrs: a value other than 0 to 7 is given',
    ],
  ])('is refused when of the PCR values %s', (_what, pcrs, reason) => {
    const untrusted = pcrs as unknown as Record<string, string>;
    expect(reasonOf(verifyQuote({ ...quote, pcrs: untrusted }))).toBe(`not a quote: ${reason}`);
  });
});

/** What a TPM could sign, signed here: the statements that our TPM does not make. */
describe('a statement that an attestation key signed', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const ak = softwareAk(publicKey);
  const pcrs = Object.fromEntries(Array.from({ length: 8 }, (_, pcr) => [pcr, '00'.repeat(32)]));
  const judged = (parts: Partial<Statement>): string => {
    const message = statement(parts);
    return reasonOf(verifyQuote({ ak, message, signature: signed(privateKey, message), nonce: NONCE, pcrs }));
  };

  it('is accepted with SHA-384', () => {
    expect(judged({})).toBe('it was accepted');
  });

  it('is accepted when its PCR selection has more bytes than it needs', () => {
    expect(judged({ select: Buffer.of(0xff, 0, 0, 0) })).toBe('it was accepted');
    expect(judged({ select: Buffer.of(0xff) })).toBe('it was accepted');
  });

  it.each<[string, Partial<Statement>, string]>([
    ['does not come from a TPM', { magic: 0x12345678 }, 'magic: it was not made by a TPM'],
    ['is a certification of a key', { type: 0x8017 }, 'type: 0x8017 is another statement of the TPM'],
    ['is about two banks', { banks: 2 }, 'pcrSelect: it is about 2 banks, not one'],
    ['is about no bank', { banks: 0 }, 'pcrSelect: it is about 0 banks, not one'],
    ['is about another bank', { bank: 0x0c }, 'pcrSelect.hash: it is not about the SHA-256 bank'],
    ['leaves a PCR out', { select: Buffer.of(0x7f, 0, 0) }, 'pcrSelect: it is not about exactly PCR 0 to 7'],
    ['is about more PCRs', { select: Buffer.of(0xff, 1, 0) }, 'pcrSelect: it is not about exactly PCR 0 to 7'],
    ['is about no PCR', { select: Buffer.of() }, 'pcrSelect: it is not about exactly PCR 0 to 7'],
    ['has bytes after it', { after: Buffer.of(0) }, 'end: 1 bytes follow the structure'],
  ])('is refused when it %s', (_what, parts, reason) => {
    expect(judged(parts)).toBe(`not a quote: ${reason}`);
  });
});

interface Statement {
  readonly magic: number;
  readonly type: number;
  readonly banks: number;
  readonly bank: number;
  readonly select: Buffer;
  readonly after: Buffer;
}

function statement(parts: Partial<Statement>): Buffer {
  const { magic = 0xff544347, type = 0x8018, banks = 1, bank = 0x0b, after = Buffer.of() } = parts;
  const select = parts.select ?? Buffer.of(0xff, 0, 0);
  return Buffer.concat([
    ...[uint32Bytes(magic), uint16Bytes(type), sizedBytes(Buffer.of(0, 0x0c)), sizedBytes(NONCE)],
    ...[Buffer.alloc(17), Buffer.alloc(8)],
    ...[uint32Bytes(banks), uint16Bytes(bank), Buffer.of(select.length), select],
    ...[sizedBytes(createHash('sha384').update(Buffer.alloc(256)).digest()), after],
  ]);
}

function signed(key: KeyObject, message: Buffer): Buffer {
  const numbers = sign('sha384', message, { key, dsaEncoding: 'ieee-p1363' });
  const parts = [numbers.subarray(0, 48), numbers.subarray(48)].map(sizedBytes);
  return Buffer.concat([uint16Bytes(0x18), uint16Bytes(0x0c), ...parts]);
}

function softwareAk(key: KeyObject): AttestationKey {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return {
    public: {
      ...akOf('ecdsa').public,
      ...{ type: 'ecc', curve: 'P-384', key },
      x: Buffer.from(x, 'base64url'),
      y: Buffer.from(y, 'base64url'),
    },
    scheme: { algorithm: 'ecdsa', hash: 'sha384' },
  };
}
