import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSshPublicKey } from '../../appliance/allocations/ssh-public-key.ts';

const ssh = (...strings: (string | Buffer)[]): string =>
  Buffer.concat(
    strings.map((string) => {
      const bytes = Buffer.from(string);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    }),
  ).toString('base64');

const ED25519 = `ssh-ed25519 ${ssh('ssh-ed25519', Buffer.alloc(32, 7))}`;

describe('an SSH public key', () => {
  it.each([
    ['ed25519', ED25519],
    ['ed25519 with a comment', `${ED25519} ops@example.com`],
    ['2048-bit RSA', `ssh-rsa ${ssh('ssh-rsa', Buffer.from([1, 0, 1]), Buffer.alloc(257, 1))}`],
    ['ECDSA', `ecdsa-sha2-nistp256 ${ssh('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(65, 4))}`],
    ['a hardware key', `sk-ssh-ed25519@openssh.com ${ssh('sk-ssh-ed25519@openssh.com', Buffer.alloc(32), 'ssh:')}`],
  ])('accepts %s', (_kind, line) => {
    expect(parseSshPublicKey(`${line}\n`)).toMatchObject({ ok: true, value: { line } });
  });

  it('has the fingerprint that ssh-keygen prints', () => {
    // The output of ssh-keygen -lf for this line.
    const line = `ssh-ed25519 ${ssh('ssh-ed25519', Buffer.alloc(32))}`;
    expect(parseSshPublicKey(line)).toMatchObject({
      value: { fingerprint: 'SHA256:kmYcvdi2GkPeWxB6XLjrZB8JHsy2Hm8luHMFp9GMvqk' },
    });
  });

  it.each([
    ['nothing', '', /known type/],
    ['the placeholder of the runbook', 'ssh-ed25519 AAAA...', /not base64/],
    ['an unknown type', 'ssh-dss AAAA', /known type/],
    ['a blob of another type', `ssh-ed25519 ${ssh('ssh-rsa', Buffer.alloc(32))}`, /another type/],
    ['a cut blob', ED25519.slice(0, -8), /truncated/],
    ['a short point', `ssh-ed25519 ${ssh('ssh-ed25519', Buffer.alloc(31))}`, /32 bytes/],
    ['a weak RSA key', `ssh-rsa ${ssh('ssh-rsa', Buffer.from([3]), Buffer.alloc(129, 1))}`, /2048 bits/],
    ['two lines', `${ED25519}\ncommand="sh" ${ED25519}`, /one line/],
    ['options before the key', `command="sh" ${ED25519}`, /known type/],
  ])('rejects %s', (_what, text, reason) => {
    expect(parseSshPublicKey(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('refuses a private key without repeating it', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const answer = parseSshPublicKey(pem);
    expect(answer).toEqual({ ok: false, reason: expect.stringMatching(/private key/) });
    expect(JSON.stringify(answer)).not.toContain(pem.split('\n')[1]);
  });

  it('never fails on any text or blob', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.uint8Array({ maxLength: 80 })), (input) => {
        const text = typeof input === 'string' ? input : `ssh-ed25519 ${Buffer.from(input).toString('base64')}`;
        expect(parseSshPublicKey(text).ok).toBeTypeOf('boolean');
      }),
    );
  });
});
