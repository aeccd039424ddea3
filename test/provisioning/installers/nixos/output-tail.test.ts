import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outputTail } from '../../../../appliance/provisioning/installers/nixos/output-tail.ts';

describe('the tail of the output', () => {
  it('has at most 60 lines, each bounded', () => {
    const tail = outputTail([]);
    for (let at = 0; at < 1000; at += 1) tail.add(`${at} ${'x'.repeat(at)}`);
    const lines = tail.text().split('\n');
    expect(lines).toHaveLength(60);
    expect(lines.at(-1)).toMatch(/^999 x{396}… \(603 more\)$/);
  });

  it.each([
    ['password=hunter22 next', 'password=[secret] next'],
    ['"token": "abc"', '"token": [secret]'],
    ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic [secret]'],
    ['see https://me:pw@host/x', 'see https://[secret]@host/x'],
    ['\x1b[31mred\x1b[0m\x07', 'red'],
    ['copying path /nix/store/abc-system', 'copying path /nix/store/abc-system'],
  ])('shows %j as %j', (line, shown) => {
    expect(outputTail([]).add(line)).toBe(shown);
  });

  it('redacts a private key from its first line to its last', () => {
    const tail = outputTail([]);
    for (const line of [
      'before',
      '-----BEGIN OPENSSH PRIVATE KEY-----',
      'b3BlbnNz',
      '-----END OPENSSH PRIVATE KEY-----',
      'after',
    ])
      tail.add(line);
    expect(tail.text()).toBe('before\n[secret]\n[secret]\n[secret]\nafter');
  });

  it('never shows a known secret, wherever it occurs, nor a control character', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9+/]{12,40}$/);
    fc.assert(
      fc.property(
        secret,
        fc.string({ unit: 'binary', maxLength: 80 }),
        fc.string({ unit: 'binary', maxLength: 80 }),
        (hidden, before, after) => {
          const shown = outputTail([`first line of it\n${hidden}\n`]).add(`${before}${hidden}${after}`);
          expect(shown).not.toContain(hidden);
          expect(shown.replaceAll('\t', '')).not.toMatch(/\p{Cc}/u);
        },
      ),
    );
  });
});
