import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { credentialFile, makeCredential } from '../../../appliance/codecs/tpm/make-credential.ts';
import { akOf, bytesOf, captured, EK_KINDS, ekOf } from './captured.ts';

const akName = akOf('ecdsa').public.name;
const secret = Buffer.alloc(32, 0x5e);
const random = (size: number): Uint8Array => Buffer.alloc(size, 0x11);

describe('a credential for a TPM', () => {
  it.each(EK_KINDS)('has the bytes that the TPM opened: %s', (kind) => {
    const { idObject, encryptedSecret } = captured.credentials[kind];
    const made = makeCredential({ ek: ekOf(kind), akName, secret, random });
    expect(made.idObject).toEqual(bytesOf(idObject));
    // OAEP adds random bytes of its own.
    if (kind.startsWith('ecc')) expect(made.encryptedSecret).toEqual(bytesOf(encryptedSecret));
    else expect(made.encryptedSecret).toHaveLength(bytesOf(encryptedSecret).length);
  });

  it.each(EK_KINDS)('does not contain the secret, and differs each time: %s', (kind) => {
    const make = () => credentialFile(makeCredential({ ek: ekOf(kind), akName, secret, random: randomBytes }));
    const [one, two] = [make(), make()];
    expect(one.equals(two)).toBe(false);
    expect(one.includes(secret.subarray(0, 8))).toBe(false);
  });

  it('depends on the name of the attestation key', () => {
    const ek = ekOf('ecc');
    const [one, two] = [akOf('ecdsa'), akOf('rsassa')].map(({ public: { name } }) =>
      makeCredential({ ek, akName: name, secret, random }),
    );
    expect(one?.idObject.equals(two?.idObject ?? Buffer.alloc(0))).toBe(false);
  });

  it('draws another ephemeral key when the first is not below the order of the curve', () => {
    const draws = [Buffer.alloc(32, 0xff), Buffer.alloc(32), Buffer.alloc(32, 0x11)];
    const made = makeCredential({ ek: ekOf('ecc'), akName, secret, random: () => draws.shift() ?? Buffer.alloc(0) });
    expect(made.encryptedSecret).toEqual(bytesOf(captured.credentials.ecc.encryptedSecret));
  });

  it('gives up when no draw is a key', () => {
    const broken = { ek: ekOf('ecc'), akName, secret, random: (size: number) => Buffer.alloc(size, 0xff) };
    expect(() => makeCredential(broken)).toThrow();
  });

  it('is not made for a secret that is longer than a digest', () => {
    const long = { ek: ekOf('ecc'), akName, secret: Buffer.alloc(33), random };
    expect(() => makeCredential(long)).toThrow('a credential of 33 bytes is too long for sha256');
  });

  it('is written as tpm2-tools reads it: magic, version and two sized parts', () => {
    const file = credentialFile({ idObject: Buffer.of(1, 2, 3), encryptedSecret: Buffer.of(9) });
    expect(file.toString('hex')).toBe('badcc0de000000010003010203000109');
  });
});
