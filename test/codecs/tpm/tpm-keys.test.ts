import { describe, expect, it } from 'vitest';
import { checkAk, checkEk } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import type { TpmAttribute, TpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { captured, EK_KINDS, publicOf, SCHEMES } from './captured.ts';

const having = (key: TpmPublic, ...names: readonly TpmAttribute[]): TpmPublic => ({
  ...key,
  attributes: new Set([...key.attributes, ...names]),
});
const without = (key: TpmPublic, name: TpmAttribute): TpmPublic => ({
  ...key,
  attributes: new Set([...key.attributes].filter((other) => other !== name)),
});

const ek = publicOf(captured.eks.ecc);
const ak = publicOf(captured.aks.ecdsa);

describe('an endorsement key', () => {
  it.each(EK_KINDS)('is accepted from the template %s', (kind) => {
    expect(checkEk(publicOf(captured.eks[kind]))).toMatchObject({
      ok: true,
      value: { aesBits: kind === 'rsa' || kind === 'ecc' ? 128 : 256 },
    });
  });

  it.each(['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'restricted', 'decrypt'] as const)(
    'needs the attribute %s',
    (name) => {
      const reason = `not an endorsement key: it lacks the attribute ${name}`;
      expect(checkEk(without(ek, name))).toEqual({ ok: false, reason });
    },
  );

  it.each([
    ['signs', having(ek, 'sign'), 'it has the attribute sign'],
    ['has a scheme', { ...ek, scheme: { algorithm: 'ecdh', hash: 'sha256' } } as const, 'it has the scheme ecdh'],
    ['has no cipher', { ...ek, symmetric: null }, 'it has no symmetric algorithm'],
    [
      'has a cipher of another size',
      { ...ek, symmetric: { keyBits: 192, mode: 0x43 } },
      'its symmetric algorithm is not AES-128 or AES-256 in CFB mode',
    ],
    [
      'has a cipher in another mode',
      { ...ek, symmetric: { keyBits: 128, mode: 0x42 } },
      'its symmetric algorithm is not AES-128 or AES-256 in CFB mode',
    ],
    ['is an attestation key', ak, 'it lacks the attribute decrypt'],
  ])('is refused when it %s', (_what, key, reason) => {
    expect(checkEk(key)).toEqual({ ok: false, reason: `not an endorsement key: ${reason}` });
  });
});

describe('an attestation key', () => {
  it.each(SCHEMES)('is accepted with %s', (algorithm) => {
    expect(checkAk(publicOf(captured.aks[algorithm]))).toMatchObject({
      ok: true,
      value: { scheme: { algorithm, hash: 'sha256' } },
    });
  });

  it.each(['fixedTPM', 'fixedParent', 'sensitiveDataOrigin', 'restricted', 'sign'] as const)(
    'needs the attribute %s',
    (name) => {
      const reason = `not an attestation key: it lacks the attribute ${name}`;
      expect(checkAk(without(ak, name))).toEqual({ ok: false, reason });
    },
  );

  it.each([
    ['decrypts', having(ak, 'decrypt'), 'it has the attribute decrypt'],
    ['has a cipher', { ...ak, symmetric: { keyBits: 128, mode: 0x43 } }, 'it has a symmetric algorithm'],
    ['has no scheme', { ...ak, scheme: null }, 'its scheme is not RSASSA, RSAPSS or ECDSA'],
    [
      'has a scheme for encryption',
      { ...ak, scheme: { algorithm: 'oaep', hash: 'sha256' } } as const,
      'its scheme is not RSASSA, RSAPSS or ECDSA',
    ],
    ['is an endorsement key', ek, 'it lacks the attribute sign'],
  ])('is refused when it %s', (_what, key, reason) => {
    expect(checkAk(key)).toEqual({ ok: false, reason: `not an attestation key: ${reason}` });
  });
});
