import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { negotiate } from '../../../appliance/codecs/tftp/negotiate.ts';

const LIMITS = { maxBlockSize: 1468, maxWindowSize: 16 };

const negotiated = (options: Record<string, string>, limits = LIMITS, mode: 'octet' | 'netascii' = 'octet') =>
  negotiate(new Map(Object.entries(options)), limits, 173_792, mode);
const acknowledged = (...parameters: Parameters<typeof negotiated>) =>
  Object.fromEntries(negotiated(...parameters).acknowledged);

describe('negotiating options', () => {
  it.each([
    ['a block size that fits is granted', { blksize: '1432' }, { blksize: '1432' }],
    ['a block size above the limit of the interface is lowered', { blksize: '8192' }, { blksize: '1468' }],
    ['the smallest block size of RFC 2348 is granted', { blksize: '8' }, { blksize: '8' }],
    ['a block size below it is ignored', { blksize: '7' }, {}],
    ['a block size above its range is ignored', { blksize: '65465' }, {}],
    ['tsize is the size of the file', { tsize: '0' }, { tsize: '173792' }],
    ['a timeout is echoed', { timeout: '255' }, { timeout: '255' }],
    ['a timeout out of range is omitted', { timeout: '256' }, {}],
    ['a timeout of 0 is omitted', { timeout: '0' }, {}],
    ['a window is granted', { windowsize: '4' }, { windowsize: '4' }],
    ['a large window is lowered', { windowsize: '65535' }, { windowsize: '16' }],
    ['a window of 0 is ignored', { windowsize: '0' }, {}],
    ['the window option of Windows is ignored', { msftwindow: '31416' }, {}],
    ['a name that every object inherits is ignored', { constructor: '1' }, {}],
    ['text instead of a number is ignored', { blksize: 'big', windowsize: '-1', timeout: '1.5' }, {}],
    ['no options requested, none acknowledged', {}, {}],
  ])('%s', (_sentence, options, expected) => {
    expect(acknowledged(options)).toEqual(expected);
  });

  it('acknowledges in the requested order', () => {
    expect([...negotiated({ windowsize: '4', multicast: '', tsize: '0', blksize: '512' }).acknowledged.keys()]).toEqual(
      ['windowsize', 'tsize', 'blksize'],
    );
  });

  it('uses the defaults of RFC 1350 for what was not negotiated', () => {
    expect(negotiated({})).toMatchObject({ blockSize: 512, windowSize: 1, timeoutSeconds: null });
    expect(negotiated({ blksize: '1024' })).toMatchObject({ blockSize: 1024, windowSize: 1 });
  });

  it('announces no size in netascii, where the size on the wire differs', () => {
    expect(acknowledged({ tsize: '0', blksize: '1024' }, LIMITS, 'netascii')).toEqual({ blksize: '1024' });
  });

  it('grants no window when windows are disabled', () => {
    expect(acknowledged({ windowsize: '4' }, { ...LIMITS, maxWindowSize: 1 })).toEqual({});
  });

  it('grants no window in which a late ACK would be ambiguous', () => {
    expect(acknowledged({ windowsize: '65535' }, { ...LIMITS, maxWindowSize: 65535 })).toEqual({ windowsize: '32767' });
  });

  it('never acknowledges what was not requested, nor more than requested, nor above the limits', () => {
    const value = fc.oneof(fc.integer({ min: -1, max: 70_000 }).map(String), fc.string({ maxLength: 6 }));
    const options = fc.dictionary(fc.constantFrom('blksize', 'timeout', 'tsize', 'windowsize', 'other'), value);
    const limits = fc.record({
      maxBlockSize: fc.integer({ min: 8, max: 65464 }),
      maxWindowSize: fc.integer({ min: 1, max: 65535 }),
    });
    fc.assert(
      fc.property(options, limits, (requested, most) => {
        const terms = negotiated(requested, most);
        for (const [name, answer] of terms.acknowledged) {
          expect(requested).toHaveProperty(name);
          if (name !== 'tsize') expect(Number(answer)).toBeLessThanOrEqual(Number(requested[name]));
        }
        if (terms.acknowledged.has('blksize')) expect(terms.blockSize).toBeLessThanOrEqual(most.maxBlockSize);
        expect(terms.windowSize).toBeLessThanOrEqual(most.maxWindowSize);
        expect(terms.acknowledged.get('blksize') ?? '512').toBe(String(terms.blockSize));
        expect(terms.acknowledged.get('windowsize') ?? '1').toBe(String(terms.windowSize));
      }),
    );
  });
});
