// Damaged and random bytes: everything that comes from a machine is accepted or refused with a reason, and never throws.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCertificateOf, readEkCertificate } from '../../../appliance/codecs/tpm/ek-certificate.ts';
import { makeCredential } from '../../../appliance/codecs/tpm/make-credential.ts';
import { verifyQuote } from '../../../appliance/codecs/tpm/quote.ts';
import { checkAk, checkEk, ekFingerprint } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { readVendorAuthorities, vendorChain } from '../../../appliance/codecs/tpm/vendor-chain.ts';
import { mustParse, type Parsed } from '../../../appliance/domain/parsed.ts';
import { plainLine } from '../../../appliance/domain/plain-line.ts';
import { akOf, bytesOf, captured, EK_KINDS, NONCE, quoteOf, SCHEMES } from './captured.ts';

const RUNS = { numRuns: 3000 };

/** Replaces some bytes, then cuts or extends. */
const damaged = (examples: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc
    .record({
      example: fc.constantFrom(...examples),
      changes: fc.array(fc.tuple(fc.nat(1200), fc.nat(255)), { maxLength: 4 }),
      cut: fc.option(fc.nat(1200), { freq: 3 }),
      more: fc.uint8Array({ maxLength: 3 }),
    })
    .map(({ example, changes, cut, more }) => {
      const bytes = Buffer.from(example);
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      return Buffer.concat([bytes.subarray(0, cut ?? bytes.length), more]);
    });

const anything = (examples: readonly Buffer[]): fc.Arbitrary<Uint8Array> =>
  fc.oneof(damaged(examples), damaged(examples), fc.uint8Array({ maxLength: 200 }));

function isJudged<T>(result: Parsed<T>): T | null {
  if (result.ok) return result.value;
  expect(result.reason).toBe(plainLine(result.reason));
  expect(result.reason.length).toBeLessThan(400);
  return null;
}

describe('bytes from a machine', () => {
  const eks = EK_KINDS.map((kind) => bytesOf(captured.eks[kind]));
  const aks = SCHEMES.map((scheme) => bytesOf(captured.aks[scheme]));

  it('are a usable public area, or refused', () => {
    const akName = akOf('ecdsa').public.name;
    const random = (size: number): Uint8Array => Buffer.alloc(size, 0x11);
    fc.assert(
      fc.property(anything([...eks, ...aks]), (bytes) => {
        const area = isJudged(parseTpmPublic(bytes));
        if (area === null) return;
        expect(ekFingerprint(area)).toMatch(/^[0-9a-f]{64}$/);
        isJudged(checkAk(area));
        const ek = isJudged(checkEk(area));
        if (ek) makeCredential({ ek, akName, secret: Buffer.alloc(32), random });
      }),
      RUNS,
    );
  });

  it.each(SCHEMES)('are the quote that was signed, or refused: %s', (scheme) => {
    const quote = { ak: akOf(scheme), ...quoteOf(scheme), nonce: NONCE };
    fc.assert(
      fc.property(anything([quote.message]), anything([quote.signature]), (message, signature) => {
        if (isJudged(verifyQuote({ ...quote, message, signature }))) expect(quote.message.equals(message)).toBe(true);
        isJudged(verifyQuote({ ...quote, signature }));
      }),
      RUNS,
    );
  });

  it('are a certificate that its vendor signed, or refused', () => {
    const authorities = mustParse(
      readVendorAuthorities([captured.root, captured.intermediate].map((text) => ({ name: 'ca', text }))),
    );
    const certificates = [bytesOf(captured.certificates.rsa), bytesOf(captured.certificates.ecc384)];
    const own = mustParse(parseTpmPublic(bytesOf(captured.eks.rsa)));
    fc.assert(
      fc.property(anything(certificates), (bytes) => {
        const certificate = isJudged(readEkCertificate(bytes));
        if (certificate === null) return;
        isCertificateOf(certificate, own);
        if (isJudged(vendorChain(certificate, authorities, 0)) === null) return;
        expect(certificates.some((original) => original.equals(bytes.subarray(0, original.length)))).toBe(true);
      }),
      RUNS,
    );
  });
});
