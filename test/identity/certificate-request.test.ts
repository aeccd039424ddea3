import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  bitString,
  contextTag,
  element,
  objectIdentifier,
  sequence,
  unsignedInteger,
} from '../../appliance/codecs/x509/der.ts';
import { OID } from '../../appliance/codecs/x509/object-identifiers.ts';
import { pemText, readPemBlock } from '../../appliance/codecs/x509/pem.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseMachineId } from '../../appliance/domain/machine.ts';
import { parseHostname } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { acceptRequest } from '../../appliance/identity/certificate-request.ts';
import type { NodeIdentity } from '../../appliance/identity/node-identity.ts';
import { needPackages } from '../interop/packages.ts';
import { type KeyName, newKeyPem, newRequest } from './openssl.ts';

const ID = '11111111-2222-3333-4444-555555555555';
const NODE: NodeIdentity = {
  id: mustParse(parseMachineId(ID)),
  hostname: mustParse(parseHostname('node01')),
  fqdn: 'node01.example.com',
  addresses: [mustParse(parseIpv4('10.0.200.10'))],
};
const refusal = (pem: string): string => {
  const accepted = acceptRequest(pem, NODE);
  return accepted.ok ? 'accepted' : accepted.reason;
};
const asPem = (der: Uint8Array): string => pemText('CERTIFICATE REQUEST', der);
const asDer = (pem: string): Uint8Array => mustParse(readPemBlock(pem, 'CERTIFICATE REQUEST'));

describe('a certification request', () => {
  let key: string;
  beforeAll(() => {
    needPackages(['openssl']);
    key = newKeyPem('ed25519');
  });

  it.each(['ed25519', 'P-256', 'P-384', 'RSA 2048'] as KeyName[])('is accepted with a key of kind %s', (kind) => {
    expect(refusal(newRequest(newKeyPem(kind), `/CN=${ID}`))).toBe('accepted');
  });

  it.each([
    ['nothing', '/'],
    ['its id', `/CN=${ID}`],
    ['its host name', '/CN=node01'],
    ['its full name', '/CN=node01.example.com'],
    ['its name among other attributes', '/O=GPU cloud/OU=rack 7/CN=node01'],
  ])('may name %s', (_what, subject) => {
    expect(refusal(newRequest(key, subject))).toBe('accepted');
  });

  it('may request its own names', () => {
    const names = `subjectAltName=DNS:node01,DNS:node01.example.com,URI:urn:uuid:${ID}`;
    expect(refusal(newRequest(key, '/', '-addext', names))).toBe('accepted');
  });

  it.each([
    ['another node', '/CN=node02', [], 'CN=node02'],
    ['another id', '/CN=99999999-2222-3333-4444-555555555555', [], 'CN=99999999'],
    ['two nodes, one of them itself', '/CN=node01/CN=node02', [], 'CN=node02'],
    ['another node among its own names', '/CN=node01', ['subjectAltName=DNS:node01,DNS:node02'], 'DNS:node02'],
    ['every node', '/', ['subjectAltName=DNS:*.example.com'], 'DNS:\\*.example.com'],
    ['an address', '/', ['subjectAltName=IP:10.0.200.10'], 'IP:10.0.200.10'],
    ["another's URI", '/', ['subjectAltName=URI:urn:uuid:99999999-2222-3333-4444-555555555555'], 'URI:urn:uuid:9'],
  ])('is refused when it names %s', (_what, subject, extensions, named) => {
    const pem = newRequest(key, subject, ...extensions.flatMap((text) => ['-addext', text]));
    expect(refusal(pem)).toMatch(new RegExp(`^it names a host other than node01: ${named}`));
  });

  it.each([
    ['an e-mail address', 'subjectAltName=email:root@node01', /a name of an unsupported kind/],
    ['an IPv6 address', 'subjectAltName=IP:fe80::1', /an IPv4 address has 4 bytes, this has 16/],
    ['a CA certificate', 'basicConstraints=critical,CA:TRUE', /it requests a CA certificate/],
  ])('is refused when it requests %s', (_what, extension, reason) => {
    expect(refusal(newRequest(key, '/', '-addext', extension))).toMatch(reason);
  });

  it('is accepted with CA:FALSE and key usages, which the appliance decides', () => {
    const extensions = ['basicConstraints=CA:FALSE', 'keyUsage=keyCertSign', 'extendedKeyUsage=serverAuth'];
    expect(refusal(newRequest(key, '/', ...extensions.flatMap((text) => ['-addext', text])))).toBe('accepted');
  });

  it.each([
    ['RSA 1024', 'its RSA key has 1024 bits, not 2048 to 8192'],
    ['RSA 2048, exponent 3', 'its RSA key has an unsafe public exponent'],
    ['P-521', 'its key is on the curve secp521r1, not P-256 or P-384'],
    ['secp256k1', 'its key is on the curve secp256k1, not P-256 or P-384'],
  ] as [KeyName, string][])('is refused with a key of kind %s', (kind, reason) => {
    expect(refusal(newRequest(newKeyPem(kind), '/'))).toBe(reason);
  });

  it('is refused with a SHA-1 signature', () => {
    expect(refusal(newRequest(newKeyPem('RSA 2048'), '/', '-sha1'))).toBe(
      'its signature algorithm 1.2.840.113549.1.1.5 is not accepted',
    );
  });

  it('is refused when another key signed it: proof of possession', () => {
    const mine = generateKeyPairSync('ed25519');
    const theirs = generateKeyPairSync('ed25519');
    const pem = handmade(theirs.publicKey.export({ format: 'der', type: 'spki' }), (info) =>
      sign(null, info, mine.privateKey),
    );
    expect(refusal(pem)).toBe('its signature does not verify with its public key');
    const own = handmade(mine.publicKey.export({ format: 'der', type: 'spki' }), (info) =>
      sign(null, info, mine.privateKey),
    );
    expect(refusal(own)).toBe('accepted');
  });

  it('is refused when the algorithm does not match the key', () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = handmade(publicKey.export({ format: 'der', type: 'spki' }), (info) => sign('sha256', info, privateKey));
    expect(refusal(pem)).toBe('its signature algorithm does not match its key');
  });

  it('is refused when any byte is changed', () => {
    const der = asDer(newRequest(key, '/CN=node01'));
    for (let at = 0; at < der.length; at++) {
      const changed = Uint8Array.from(der);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      expect(refusal(asPem(changed)), `byte ${at}`).not.toBe('accepted');
    }
  });

  it('is refused when it is truncated at any length, and when data follows it', () => {
    const der = asDer(newRequest(key, '/CN=node01', '-addext', 'subjectAltName=DNS:node01'));
    for (let length = 1; length < der.length; length++) {
      expect(refusal(asPem(der.subarray(0, length))), `${length} bytes`).toMatch(/^not a certification request/);
    }
    expect(refusal(asPem(Uint8Array.of(...der, 0)))).toMatch(/has 1 trailing bytes/);
  });

  it.each([
    ['nothing', ''],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['words', 'please'],
    ['two requests', 'twice'],
  ])('is refused when it is %s', (_what, text) => {
    const pem = newRequest(key, '/');
    expect(refusal(text === 'twice' ? pem + pem : text)).toMatch(/CERTIFICATE REQUEST/);
  });

  it('is refused without parsing when it is too long', () => {
    expect(refusal('A'.repeat(17 * 1024))).toBe('a request has at most 16384 characters');
  });

  it('is refused with a reason and never throws, for any bytes', () => {
    const der = asDer(newRequest(key, '/CN=node01', '-addext', 'subjectAltName=DNS:node01'));
    const damage = fc.array(fc.tuple(fc.nat(der.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(damage, (changes) => {
        const changed = Uint8Array.from(der);
        for (const [at, byte] of changes) changed[at] = byte;
        fc.pre(!changed.every((byte, at) => byte === der[at]));
        expect(refusal(asPem(changed))).not.toBe('accepted');
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (random) => refusal(asPem(random)) !== 'accepted'),
    );
  });

  it('gives reasons that are safe to log', () => {
    const named = newRequest(key, '/CN=evil\n\u001b[31m', '-utf8');
    expect(refusal(named)).toMatch(/^[\x20-\x7e…]+$/);
  });
});

/** A request with an empty subject that claims Ed25519. */
function handmade(publicKeyInfo: Uint8Array, signed: (info: Uint8Array) => Uint8Array): string {
  const info = sequence(unsignedInteger(Uint8Array.of(0)), sequence(), publicKeyInfo, element(contextTag(0, true)));
  return asPem(sequence(info, sequence(objectIdentifier(OID.ed25519)), bitString(signed(info))));
}
