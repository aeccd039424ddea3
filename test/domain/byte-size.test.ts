import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteSizeText, parseByteSize } from '../../appliance/domain/byte-size.ts';

describe('a disk size', () => {
  it.each([
    ['480GB', 480e9],
    ['1.92TB', 1.92e12],
    ['8GiB', 8 * 2 ** 30],
    ['512 MiB', 512 * 2 ** 20],
    ['0.5TB', 5e11],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseByteSize(text)).toEqual({ ok: true, value: bytes });
  });

  it.each(['480', 'GB', '480G', '480 gb', '-1GB', '1e3GB', '1,92TB', '1.9234TB', '0x10GB', '', '9'.repeat(20)])(
    'rejects %j',
    (text) => {
      expect(parseByteSize(text)).toMatchObject({ ok: false, reason: expect.stringContaining('not a size') });
    },
  );

  it('is never larger than the largest safe integer', () => {
    expect(parseByteSize('999999999TB')).toEqual({ ok: false, reason: 'larger than any disk: 999999999TB' });
  });

  it('parses its own text back to the same value', () => {
    const thousandths = fc.integer({ min: 1000, max: 1_000_000 }).map((number) => number / 1000);
    fc.assert(
      fc.property(thousandths, fc.constantFrom('MB', 'GB', 'TB', 'MiB', 'GiB', 'TiB'), (number, unit) => {
        const size = parseByteSize(`${number}${unit}`);
        if (!size.ok) throw new Error(size.reason);
        expect(parseByteSize(byteSizeText(size.value))).toEqual(size);
      }),
    );
  });
});
