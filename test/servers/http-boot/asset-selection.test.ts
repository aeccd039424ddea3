import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectBytes } from '../../../appliance/servers/http-boot/asset-selection.ts';

const ETAG = '"abc"';
const select = (headers: Record<string, string>, size = 100, method = 'GET') =>
  selectBytes(method, headers, size, ETAG);

describe('the selected bytes of a request', () => {
  it.each([
    ['bytes=0-9', { status: 206, start: 0, end: 10 }],
    ['bytes=90-', { status: 206, start: 90, end: 100 }],
    ['bytes=-10', { status: 206, start: 90, end: 100 }],
    ['bytes=-1000', { status: 206, start: 0, end: 100 }],
    ['bytes=90-1000', { status: 206, start: 90, end: 100 }],
    ['bytes=99-99', { status: 206, start: 99, end: 100 }],
    ['bytes=100-', { status: 416 }],
    ['bytes=100-200', { status: 416 }],
    ['bytes=-0', { status: 416 }],
  ])('Range: %s', (range, selection) => {
    expect(select({ range })).toEqual(selection);
  });

  it.each(['bytes=9-0', 'bytes=-', 'bytes=a-b', 'bytes=0-1,5-6', 'lines=0-1', 'bytes 0-1', ''])(
    'a Range that is none (%j) counts as absent',
    (range) => {
      expect(select({ range })).toEqual({ status: 200, start: 0, end: 100 });
    },
  );

  it('are the whole file for HEAD, whatever range it names', () => {
    expect(select({ range: 'bytes=0-9' }, 100, 'HEAD')).toEqual({ status: 200, start: 0, end: 100 });
  });

  it.each([
    ['If-Match with our tag', { 'if-match': ETAG }, 200],
    ['If-Match with our tag among others', { 'if-match': '"x", "abc"' }, 200],
    ['If-Match: *', { 'if-match': '*' }, 200],
    ['If-Match with another tag', { 'if-match': '"old"' }, 412],
    ['If-Match with a weak tag', { 'if-match': 'W/"abc"' }, 412],
    ['If-None-Match with our tag', { 'if-none-match': ETAG }, 304],
    ['If-None-Match with our tag, weakly', { 'if-none-match': 'W/"abc"' }, 304],
    ['If-None-Match with another tag', { 'if-none-match': '"old"' }, 200],
    ['If-Range with our tag', { range: 'bytes=1-2', 'if-range': ETAG }, 206],
    ['If-Range with another tag', { range: 'bytes=1-2', 'if-range': '"old"' }, 200],
    ['If-Range with a date', { range: 'bytes=1-2', 'if-range': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 200],
    ['a resumed download, as EDK2 requests it', { range: 'bytes=50-', 'if-match': ETAG }, 206],
  ])('%s', (_what, headers, status) => {
    expect(select(headers).status).toBe(status);
  });

  it('are never outside the file', () => {
    const number = fc.oneof(fc.constant(''), fc.nat(300).map(String), fc.maxSafeNat().map(String));
    fc.assert(
      fc.property(number, number, fc.nat(200), (first, last, size) => {
        const selection = select({ range: `bytes=${first}-${last}` }, size);
        if (!('start' in selection)) return;
        expect(selection.start).toBeGreaterThanOrEqual(0);
        expect(selection.end).toBeLessThanOrEqual(size);
        expect(selection.end - selection.start).toBeGreaterThanOrEqual(selection.status === 206 ? 1 : 0);
      }),
    );
  });
});
