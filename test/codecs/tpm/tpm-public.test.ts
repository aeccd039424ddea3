import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ekFingerprint } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { bytesOf, captured, EK_KINDS, patched, publicOf, SCHEMES } from './captured.ts';

/** Offsets in a TPM2B_PUBLIC with an authorization policy of 32 bytes. */
const AT = { type: 2, nameAlg: 4, attributes: 6, policySize: 10, symmetric: 44, scheme: 50, curve: 52, kdf: 54, x: 56 };
const rsa = bytesOf(captured.eks.rsa);
const ecc = bytesOf(captured.eks.ecc);

const reasonFor = (bytes: Uint8Array): string => {
  const result = parseTpmPublic(bytes);
  return result.ok ? 'it parsed' : result.reason;
};

describe('the public area of a TPM key', () => {
  it('is read with its parameters', () => {
    expect(publicOf(captured.eks.rsa)).toMatchObject({
      type: 'rsa',
      keyBits: 2048,
      nameAlg: 'sha256',
      symmetric: { keyBits: 128, mode: 0x43 },
      scheme: null,
    });
    expect(publicOf(captured.eks.rsa3072)).toMatchObject({
      keyBits: 3072,
      nameAlg: 'sha384',
      symmetric: { keyBits: 256 },
    });
    expect(publicOf(captured.eks.ecc)).toMatchObject({ type: 'ecc', curve: 'P-256', nameAlg: 'sha256' });
    expect(publicOf(captured.eks.ecc384)).toMatchObject({
      curve: 'P-384',
      nameAlg: 'sha384',
      symmetric: { keyBits: 256 },
    });
    expect(publicOf(captured.aks.rsapss).scheme).toEqual({ algorithm: 'rsapss', hash: 'sha256' });
    expect([...publicOf(captured.aks.ecdsa).attributes]).toEqual([
      ...['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'userWithAuth', 'restricted', 'sign'],
    ]);
  });

  it.each([...EK_KINDS.map((kind) => captured.eks[kind]), ...SCHEMES.map((scheme) => captured.aks[scheme])])(
    'is the same with and without its size: %#',
    (base64) => {
      const [whole, bare] = [publicOf(base64), publicOf(bytesOf(base64).subarray(2).toString('base64'))];
      expect(bare.name).toEqual(whole.name);
      expect(bare.spki).toEqual(whole.spki);
    },
  );

  it('has a name: nameAlg and the hash of the area', () => {
    const { name } = publicOf(captured.eks.ecc384);
    const hash = createHash('sha384').update(bytesOf(captured.eks.ecc384).subarray(2)).digest();
    expect(name).toEqual(Buffer.concat([Buffer.of(0, 0x0c), hash]));
  });

  it.each(EK_KINDS)('has a key that crypto libraries read: %s', (kind) => {
    const { key, spki } = publicOf(captured.eks[kind]);
    const read = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect(read.equals(key)).toBe(true);
    if (kind !== 'ecc') return;
    const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(diffieHellman({ privateKey: own.privateKey, publicKey: key })).toHaveLength(32);
  });

  it('has a fingerprint that depends on the key only, not on its attributes', () => {
    const other = patched(ecc, AT.attributes + 3, 0xf2);
    const [one, two] = [publicOf(captured.eks.ecc), publicOf(other.toString('base64'))];
    expect(two.name).not.toEqual(one.name);
    expect(ekFingerprint(two)).toBe(ekFingerprint(one));
    expect(ekFingerprint(one)).toBe(createHash('sha256').update(one.spki).digest('hex'));
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'type: needs 2 bytes, only 0 are left'],
    ['bytes after it', Buffer.concat([ecc.subarray(2), Buffer.of(0)]), 'end: 1 bytes follow the structure'],
    [
      'a size that is wrong',
      Buffer.concat([ecc, Buffer.of(0)]),
      `size: says ${ecc.length - 2} bytes, ${ecc.length - 1} follow`,
    ],
    ['a symmetric key', patched(rsa, AT.type, 0, 0x25), 'type: 0x0025 is not RSA or ECC'],
    ['names with SHA-1', patched(rsa, AT.nameAlg, 0, 4), 'nameAlg: hash 0x0004 is not SHA-256 or SHA-384'],
    ['a reserved attribute', patched(rsa, AT.attributes, 0x80), 'objectAttributes: sets a reserved bit'],
    [
      'a policy that is too long',
      patched(rsa, AT.policySize, 0xff, 0xff),
      'authPolicy: has 65535 bytes, at most 32 are allowed',
    ],
    ['another cipher', patched(rsa, AT.symmetric, 0, 0x13), 'symmetric: algorithm 0x0013 is not AES'],
    ['an unknown scheme', patched(rsa, AT.scheme, 0, 0x1a), 'scheme: 0x001a is not supported'],
    ['an RSA key of 1024 bits', patched(rsa, AT.scheme + 2, 4, 0), 'keyBits: 1024 is not 2048 or 3072'],
    ['an exponent of 3', patched(rsa, AT.scheme + 4, 0, 0, 0, 3), 'exponent: 3 is not 65537'],
    ['an even modulus', patched(rsa, rsa.length - 1, 0), 'unique: is not an RSA modulus of 2048 bits'],
    ['another curve', patched(ecc, AT.curve, 0, 0x10), 'curveID: curve 0x0010 is not P-256 or P-384'],
    ['a key derivation scheme', patched(ecc, AT.kdf, 0, 0x20), 'kdf: algorithm 0x0020 is not supported'],
    ['a coordinate that is too long', patched(ecc, AT.x, 0, 33), 'unique.x: has 33 bytes, at most 32 are allowed'],
    ['a point that is not on the curve', patched(ecc, AT.x + 2, 1, 2, 3, 4), 'unique: is not a point on P-256'],
  ])('is refused with %s', (_what, bytes, reason) => {
    expect(reasonFor(bytes)).toBe(`not a TPM public area: ${reason}`);
  });

  it('is refused when it is truncated anywhere', () => {
    for (const whole of [rsa, ecc, rsa.subarray(2), ecc.subarray(2)]) {
      for (let length = 0; length < whole.length; length++) {
        expect(parseTpmPublic(whole.subarray(0, length)).ok, `cut to ${length}`).toBe(false);
      }
    }
  });
});
