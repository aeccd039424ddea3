import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pemText, readPemBlock, readPemBlocks } from '../../../appliance/codecs/x509/pem.ts';

const block = (body: string, label = 'CERTIFICATE'): string =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

describe('PEM', () => {
  it('round-trips, in lines of at most 64 characters', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 4 }), (ders) => {
        const text = ders.map((der) => pemText('CERTIFICATE', der)).join('');
        expect(readPemBlocks(text, 'CERTIFICATE')).toEqual({ ok: true, value: ders });
        expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(64);
      }),
    );
  });

  it('may have Windows line ends and blank lines around it', () => {
    const text = `\r\n${pemText('CERTIFICATE', Uint8Array.of(1, 2, 3)).replaceAll('\n', '\r\n')}\r\n`;
    expect(readPemBlock(text, 'CERTIFICATE')).toEqual({ ok: true, value: Uint8Array.of(1, 2, 3) });
  });

  it.each([
    ['nothing', '', 'has no CERTIFICATE in PEM'],
    ['a placeholder', '<CA_PEM>', 'has no CERTIFICATE in PEM'],
    ['another label', block('AAAA', 'PRIVATE KEY'), 'has no CERTIFICATE in PEM'],
    ['an empty block', block(''), 'has no CERTIFICATE in PEM'],
    ['invalid base64', block('A===') + block('AAAA'), 'has text outside its CERTIFICATE blocks'],
    ['base64 with bits left over', block('AAB='), 'has no CERTIFICATE in PEM'],
    ['text outside it', `trust me\n${block('AAAA')}`, 'has text outside its CERTIFICATE blocks'],
    ['a block that does not end', '-----BEGIN CERTIFICATE-----\nAAAA\n', 'has no CERTIFICATE in PEM'],
  ])('is rejected with %s', (_what, text, reason) => {
    expect(readPemBlocks(text, 'CERTIFICATE')).toEqual({ ok: false, reason });
  });

  it('is rejected as a single block when there are two', () => {
    expect(readPemBlock(block('AAAA').repeat(2), 'CERTIFICATE')).toEqual({
      ok: false,
      reason: 'has 2 CERTIFICATE blocks; exactly one is required',
    });
  });
});
