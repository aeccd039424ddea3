// Our TPM code with real TPMs: swtpm and tpm2-tools. Two TPMs of two vendors.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isCertificateOf, readEkCertificate } from '../../../appliance/codecs/tpm/ek-certificate.ts';
import { credentialFile, makeCredential } from '../../../appliance/codecs/tpm/make-credential.ts';
import { verifyQuote } from '../../../appliance/codecs/tpm/quote.ts';
import { checkAk, checkEk, ekFingerprint } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { readVendorAuthorities, vendorChain } from '../../../appliance/codecs/tpm/vendor-chain.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { TpmVendor } from '../../../appliance/lab/rack/tpm-vendor.ts';
import { needPackages } from '../packages.ts';
import { SoftwareTpm, TPM_PACKAGES } from './software-tpm.ts';

const EKS = ['rsa', 'ecc', 'rsa3072', 'ecc384'] as const;
const AKS = [
  ['ecc', 'ecdsa'],
  ['rsa', 'rsassa'],
  ['rsa', 'rsapss'],
] as const;

let folder = '';
let vendor: TpmVendor;
let otherVendor: TpmVendor;
let own: SoftwareTpm;
let other: SoftwareTpm;

const publicOf = (bytes: Uint8Array) => mustParse(parseTpmPublic(bytes));
const akOf = (tpm: SoftwareTpm, scheme: string) => mustParse(checkAk(publicOf(tpm.read(`${scheme}.ak.pub`))));
const ekOf = (tpm: SoftwareTpm, kind: string) => mustParse(checkEk(publicOf(tpm.read(`${kind}.ek.pub`))));

beforeAll(async () => {
  needPackages(TPM_PACKAGES);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-tpm-'));
  [vendor, otherVendor] = [new TpmVendor(join(folder, 'vendor')), new TpmVendor(join(folder, 'foreign'))];
  own = await SoftwareTpm.start(join(folder, 'own'), vendor);
  other = await SoftwareTpm.start(join(folder, 'other'), otherVendor);
  for (const tpm of [own, other]) {
    for (const kind of EKS) tpm.createEk(kind);
    for (const [kind, scheme] of AKS) tpm.createAk(kind, kind, scheme);
  }
}, 300_000);

afterAll(async () => {
  await own?.stop();
  await other?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(EKS)('a credential for the endorsement key %s', (kind) => {
  const secret = randomBytes(32);
  const credentialFor = (scheme: string): Buffer =>
    credentialFile(
      makeCredential({ ek: ekOf(own, kind), akName: akOf(own, scheme).public.name, secret, random: randomBytes }),
    );

  it.each(AKS)('is opened by its TPM for its attestation key: %s %s', (_kind, scheme) => {
    const { secret: opened, output } = own.activate(kind, `${scheme}.ak`, credentialFor(scheme));
    expect(opened, output).toEqual(secret);
  });

  it('is not opened for another attestation key of the same TPM', () => {
    const { secret: opened, output } = own.activate(kind, 'rsassa.ak', credentialFor('ecdsa'));
    expect(opened).toBeNull();
    expect(output).toContain('integrity check failed');
  });

  it('is not opened by another TPM', () => {
    const { secret: opened, output } = other.activate(kind, 'ecdsa.ak', credentialFor('ecdsa'));
    expect(opened).toBeNull();
    // With another RSA key the padding is wrong already, which swtpm calls a failure.
    expect(output).toMatch(/integrity check failed|ActivateCredential\(0x101\)/);
  });

  it('is a different key in each TPM, and the same each time', () => {
    const fingerprint = ekFingerprint(ekOf(own, kind).public);
    expect(ekFingerprint(ekOf(other, kind).public)).not.toBe(fingerprint);
    own.tpm2('createek', '-G', kind, '-c', 'again.ek', '-u', 'again.ek.pub');
    expect(ekFingerprint(publicOf(own.read('again.ek.pub')))).toBe(fingerprint);
  });
});

describe.each(AKS)('a quote of an attestation key: %s %s', (_kind, scheme) => {
  it('is verified, and notices a tampered request, PCR or signature', () => {
    const nonce = randomBytes(32);
    const ak = akOf(own, scheme);
    const quote = { ak, nonce, ...own.quote(scheme, nonce) };
    expect(verifyQuote(quote)).toMatchObject({ ok: true, value: { resetCount: expect.any(Number) } });
    expect(verifyQuote({ ...quote, nonce: randomBytes(32) }).ok).toBe(false);
    expect(verifyQuote({ ...quote, pcrs: { ...quote.pcrs, 0: 'ff'.repeat(32) } }).ok).toBe(false);
    const signature = Buffer.from(quote.signature);
    signature.writeUInt8(signature.readUInt8(20) ^ 1, 20);
    expect(verifyQuote({ ...quote, signature }).ok).toBe(false);
    expect(verifyQuote({ ...quote, ak: akOf(other, scheme) }).ok).toBe(false);
  });

  it('changes with a PCR, and the values before no longer match', () => {
    const nonce = randomBytes(32);
    const ak = akOf(own, scheme);
    const before = own.quote(scheme, nonce);
    own.tpm2('pcrextend', `4:sha256=${'ab'.repeat(32)}`);
    const after = own.quote(scheme, nonce);
    expect(after.pcrs[4]).not.toBe(before.pcrs[4]);
    expect(verifyQuote({ ak, nonce, ...after }).ok).toBe(true);
    expect(verifyQuote({ ak, nonce, ...after, pcrs: before.pcrs })).toEqual({
      ok: false,
      reason: 'the quote is about other PCR values',
    });
  });
});

/** swtpm_setup creates the certificates of these two keys. */
describe.each([
  ['rsa', '0x01c00002'],
  ['ecc384', '0x01c00016'],
] as const)('the certificate of the endorsement key %s', (kind, index) => {
  const certificateOf = (maker: TpmVendor, name: 'root' | 'issuer') => {
    const file = join(maker.certificates, `${name}.pem`);
    return { name: file, text: readFileSync(file, 'utf8') };
  };
  const authorities = (root: TpmVendor, issuer: TpmVendor) =>
    mustParse(readVendorAuthorities([certificateOf(root, 'root'), certificateOf(issuer, 'issuer')]));
  const certificate = (): Buffer => {
    own.tpm2('nvread', index, '-o', 'certificate');
    return own.read('certificate');
  };

  it('certifies the key that the TPM has', () => {
    const read = mustParse(readEkCertificate(certificate()));
    expect(isCertificateOf(read, ekOf(own, kind).public)).toBe(true);
    expect(isCertificateOf(read, ekOf(other, kind).public)).toBe(false);
    const padded = Buffer.concat([certificate(), Buffer.alloc(300, 0xff)]);
    expect(isCertificateOf(mustParse(readEkCertificate(padded)), ekOf(own, kind).public)).toBe(true);
  });

  it('leads to its vendor, and to no other', () => {
    const read = mustParse(readEkCertificate(certificate()));
    expect(vendorChain(read, authorities(vendor, vendor), Date.now())).toEqual({
      ok: true,
      value: { issuer: 'CN=swtpm-localca', root: 'CN=swtpm-localca-rootca', remarks: [] },
    });
    // Both vendors have the same names.
    expect(vendorChain(read, authorities(otherVendor, otherVendor), Date.now()).ok).toBe(false);
    expect(vendorChain(read, authorities(otherVendor, vendor), Date.now()).ok).toBe(false);
  });

  it('is refused when it is truncated', () => {
    expect(readEkCertificate(certificate().subarray(0, -1))).toMatchObject({ ok: false });
  });
});
