import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isCertificateOf, readEkCertificate } from '../../../appliance/codecs/tpm/ek-certificate.ts';
import { readVendorAuthorities, vendorChain } from '../../../appliance/codecs/tpm/vendor-chain.ts';
import {
  basicConstraints,
  encodeName,
  signedCertificate,
  toBeSigned,
} from '../../../appliance/codecs/x509/certificate.ts';
import { bitString, boolean, objectIdentifier, octetString, sequence } from '../../../appliance/codecs/x509/der.ts';
import { pemText } from '../../../appliance/codecs/x509/pem.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { bytesOf, captured, publicOf } from './captured.ts';

const NOW = Date.UTC(2026, 11, 1);
const YEAR = 365 * 24 * 3600 * 1000;
const der = bytesOf(captured.certificates.rsa);
const files = (...texts: readonly string[]) => texts.map((text, index) => ({ name: `ca${index}.pem`, text }));
const authorities = mustParse(readVendorAuthorities(files(captured.root, captured.intermediate)));

describe('an EK certificate', () => {
  it.each(['rsa', 'ecc384'] as const)('is read, and belongs to its key only: %s', (kind) => {
    const certificate = mustParse(readEkCertificate(bytesOf(captured.certificates[kind])));
    expect(isCertificateOf(certificate, publicOf(captured.eks[kind]))).toBe(true);
    for (const other of ['ecc', 'rsa3072', kind === 'rsa' ? 'ecc384' : 'rsa'] as const) {
      expect(isCertificateOf(certificate, publicOf(captured.eks[other]))).toBe(false);
    }
  });

  it.each([
    ['0xff', Buffer.alloc(500, 0xff)],
    ['zeros', Buffer.alloc(500)],
    ['another certificate', bytesOf(captured.certificates.ecc384)],
  ])('is read when the NV index ends with %s', (_what, padding) => {
    const certificate = mustParse(readEkCertificate(Buffer.concat([der, padding])));
    expect(isCertificateOf(certificate, publicOf(captured.eks.rsa))).toBe(true);
  });

  it('is read when its length is in a longer form than DER allows', () => {
    const length = der.length - 4;
    const long = Buffer.concat([Buffer.of(0x30, 0x83, 0, length >> 8, length & 0xff), der.subarray(4)]);
    expect(mustParse(readEkCertificate(long)).certificate.subject).toBe('CN=unknown');
  });

  it('is read as DER even when it contains a certificate in PEM', () => {
    const { certificate } = authority('Maker', null, { extension: Buffer.from(captured.root, 'ascii') });
    expect(mustParse(readEkCertificate(certificate)).certificate.subject).toContain('CN=Maker');
  });

  it('is read when its key is declared for OAEP only', () => {
    const spki = publicOf(captured.eks.rsa).spki;
    // SEQUENCE of 4 bytes, the algorithm of 15 bytes, then the BIT STRING of 4 bytes, the unused bits and the key.
    const keyBits = spki.subarray(24);
    const info = sequence(sequence(objectIdentifier('1.2.840.113549.1.1.7'), sequence()), bitString(keyBits));
    const { certificate } = authority('Old maker', null, { publicKeyInfo: info });
    expect(isCertificateOf(mustParse(readEkCertificate(certificate)), publicOf(captured.eks.rsa))).toBe(true);
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'the TPM has no EK certificate: it is blank'],
    ['an erased NV index', Buffer.alloc(1000, 0xff), 'the TPM has no EK certificate: it is blank'],
    ['text', Buffer.from(captured.root), 'the EK certificate does not start as a certificate'],
    ['a truncated one', der.subarray(0, 300), `the EK certificate is truncated: 300 of ${der.length} bytes`],
    ['an indefinite length', Buffer.of(0x30, 0x80, 1, 1, 0, 0), 'the EK certificate has an invalid length'],
    ['another structure', Buffer.from(sequence(octetString(der))), 'the EK certificate is not an X.509 certificate'],
  ])('is refused: %s', (_what, bytes, reason) => {
    expect(readEkCertificate(bytes)).toEqual({ ok: false, reason });
  });
});

describe('the vendor of an EK certificate', () => {
  it('is the authority that signed it, below a root of the site', () => {
    expect(vendorChain(mustParse(readEkCertificate(der)), authorities, NOW)).toEqual({
      ok: true,
      value: { issuer: 'CN=swtpm-localca', root: 'CN=swtpm-localca-rootca', remarks: [] },
    });
  });

  it.each([
    ['after they have expired', NOW + 2 * YEAR, 'expired on 2027-12-01'],
    ['before they are valid', NOW - 2 * YEAR, 'is not valid before 2025-12-01'],
  ])('is accepted whatever the dates of the certificates, which is said: %s', (_what, now, remark) => {
    const root = authority('Root', 0);
    const ek = mustParse(readEkCertificate(issuedBy(root, 'TPM', null).certificate));
    expect(vendorChain(ek, mustParse(readVendorAuthorities(files(pem(root)))), now)).toMatchObject({
      ok: true,
      value: { remarks: [`the EK certificate ${remark}`, `the authority O=Coldiron tests, CN=Root ${remark}`] },
    });
  });

  it.each([
    [
      'without the root',
      files(captured.intermediate),
      'CN=swtpm-localca, which leads to no root of the vendor authorities',
    ],
    ['without the intermediate', files(captured.root), 'CN=swtpm-localca, which is not one of the vendor authorities'],
    ['without authorities', [], 'CN=swtpm-localca, which is not one of the vendor authorities'],
  ])('is refused %s', (_what, given, reason) => {
    const chain = vendorChain(mustParse(readEkCertificate(der)), mustParse(readVendorAuthorities(given)), NOW);
    expect(chain).toEqual({ ok: false, reason: `the EK certificate is issued by ${reason}` });
  });

  it('is refused when an authority of the same name did not sign it', () => {
    const [real, fake] = [authority('Maker', 1), authority('Maker', 1)];
    const ek = mustParse(readEkCertificate(issuedBy(real, 'TPM', null).certificate));
    const chain = vendorChain(ek, mustParse(readVendorAuthorities(files(pem(fake)))), NOW);
    expect(chain).toMatchObject({
      reason: 'the EK certificate names O=Coldiron tests, CN=Maker as its issuer, but is not signed by it',
    });
    expect(vendorChain(ek, mustParse(readVendorAuthorities(files(pem(fake), pem(real)))), NOW).ok).toBe(true);
  });

  it('is refused when the path has more authorities than the root allows', () => {
    const chainBelow = (pathLength: number) => {
      const root = authority('Root', pathLength);
      const upper = issuedBy(root, 'Upper', 1);
      const lower = issuedBy(upper, 'Lower', 0);
      const ek = mustParse(readEkCertificate(issuedBy(lower, 'TPM', null).certificate));
      return vendorChain(ek, mustParse(readVendorAuthorities(files(pem(lower) + pem(upper), pem(root)))), NOW);
    };
    expect(chainBelow(2)).toMatchObject({ ok: true, value: { root: 'O=Coldiron tests, CN=Root' } });
    expect(chainBelow(1)).toMatchObject({ ok: false });
  });

  it('accepts a critical extension that only the TCG defines', () => {
    const root = authority('Root', 0);
    const ek = mustParse(
      readEkCertificate(issuedBy(root, 'TPM', null, { extension: Buffer.of(5, 0), isCritical: true }).certificate),
    );
    expect(vendorChain(ek, mustParse(readVendorAuthorities(files(pem(root)))), NOW).ok).toBe(true);
  });
});

describe('the vendor authorities of a site', () => {
  it.each([
    ['no PEM', 'hello', 'ca0.pem: has no CERTIFICATE in PEM'],
    [
      'something else in PEM',
      pemText('CERTIFICATE', Buffer.of(0x30, 0)),
      'ca0.pem: has a certificate that cannot be read',
    ],
    [
      'no authority',
      pem(authority('Server', null)),
      'ca0.pem: O=Coldiron tests, CN=Server is not the certificate of an authority',
    ],
  ])('are refused by file name with %s', (_what, text, reason) => {
    expect(readVendorAuthorities(files(text))).toEqual({ ok: false, reason });
  });
});

interface Issued {
  readonly certificate: Buffer;
  readonly name: Uint8Array;
  readonly key: KeyObject;
}

interface Odd {
  readonly extension?: Buffer;
  readonly isCritical?: boolean;
  readonly publicKeyInfo?: Uint8Array;
}

function authority(commonName: string, pathLength: number | null, odd: Odd = {}): Issued {
  return issue(commonName, pathLength, null, odd);
}

function issuedBy(issuer: Issued, commonName: string, pathLength: number | null, odd: Odd = {}): Issued {
  return issue(commonName, pathLength, issuer, odd);
}

/** `pathLength` null: not an authority. `issuer` null: it signs itself. */
function issue(commonName: string, pathLength: number | null, issuer: Issued | null, odd: Odd): Issued {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = encodeName({ organization: 'Coldiron tests', commonName });
  const { extension, isCritical = false } = odd;
  const more = extension ? [oddExtension(extension, isCritical)] : [];
  const tbs = toBeSigned({
    serial: Buffer.of(1),
    issuer: issuer?.name ?? name,
    subject: name,
    publicKeyInfo: odd.publicKeyInfo ?? publicKey.export({ type: 'spki', format: 'der' }),
    notBefore: NOW - YEAR,
    notAfter: NOW + YEAR,
    extensions: [basicConstraints(pathLength === null ? null : { pathLength }), ...more],
  });
  const certificate = Buffer.from(signedCertificate(tbs, sign('sha256', tbs, issuer?.key ?? privateKey)));
  return { certificate, name, key: privateKey };
}

/** tcg-at-tpmSpecification, which OpenSSL does not know as an extension. */
function oddExtension(value: Buffer, isCritical: boolean): Uint8Array {
  return sequence(objectIdentifier('2.23.133.2.16'), ...(isCritical ? [boolean(true)] : []), octetString(value));
}

function pem({ certificate }: Issued): string {
  return pemText('CERTIFICATE', certificate);
}
