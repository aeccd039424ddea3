import { createDecipheriv, createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  SEALED_TYPE,
  type SealedFile,
  sealFile,
  sessionKeyOf,
} from '../../../appliance/provisioning/sessions/sealed-file.ts';

const seed = Buffer.alloc(32, 0xa5);
const s = 'a5'.repeat(32);
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What the service OS does. */
function opened({ name, data, mac }: SealedFile, seedText: string): Buffer | null {
  const bytes = Buffer.from(data, 'base64');
  const key = sha256(`coldiron authenticate ${name} ${seedText}`);
  if (
    createHmac('sha256', key)
      .update(Buffer.concat([Buffer.from(name), Buffer.of(0), bytes]))
      .digest('hex') !== mac
  )
    return null;
  expect(bytes.subarray(0, 8).toString()).toBe('Salted__');
  const passphrase = sha256(`coldiron encrypt ${name} ${seedText}`).toString('hex');
  const keys = pbkdf2Sync(passphrase, bytes.subarray(8, 16), 1000, 48, 'sha256');
  const decipher = createDecipheriv('aes-256-ctr', keys.subarray(0, 32), keys.subarray(32));
  return Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]);
}

describe('a sealed file', () => {
  it('is opened with the seed, whatever its content', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/), fc.uint8Array({ maxLength: 5000 }), (name, content) => {
        expect(opened(sealFile(seed, name, content, randomBytes), s)).toEqual(Buffer.from(content));
      }),
      { numRuns: 50 },
    );
    expect(opened(sealFile(seed, 'user-data', 'größe', randomBytes), s)?.toString()).toBe('größe');
  });

  it('is not opened with another seed, under another name or after a change', () => {
    const file = sealFile(seed, 'user-data', 'token: secret', randomBytes);
    expect(opened(file, 'a6'.repeat(32))).toBeNull();
    expect(opened({ ...file, name: 'meta-data' }, s)).toBeNull();
    const bytes = Buffer.from(file.data, 'base64');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(opened({ ...file, data: changed.toString('base64') }, s)).toBeNull();
    }
  });

  it('does not contain the content, and differs each time', () => {
    const [one, two] = [1, 2].map(() => sealFile(seed, 'user-data', 'token: secret', randomBytes));
    expect(Buffer.from(one?.data ?? '', 'base64').includes('token')).toBe(false);
    expect(one?.data).not.toBe(two?.data);
  });
});

it('has a media type that the service OS recognizes', () => {
  expect(SEALED_TYPE).toBe('application/vnd.coldiron.sealed+json');
});

describe('the session key', () => {
  it('is derived from the seed', () => {
    expect(sessionKeyOf(seed)).toBe(sha256(`coldiron session ${s}`).toString('base64url'));
    expect(sessionKeyOf(seed)).toHaveLength(43);
    expect(sessionKeyOf(Buffer.alloc(32, 0xa6))).not.toBe(sessionKeyOf(seed));
  });
});
