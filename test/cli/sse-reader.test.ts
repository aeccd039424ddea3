import { describe, expect, it } from 'vitest';
import { SseReader } from '../../appliance/cli/sse-reader.ts';

describe('a reader of Server-Sent Events', () => {
  it('joins chunks and data lines, ignores comments and unknown fields, and keeps the last id', () => {
    const reader = new SseReader();
    expect(reader.read(': hello\nid: 7\nevent: ev')).toEqual([]);
    expect(reader.read('ent\ndata: one\ndata:two\nretry: 5\ncolour: red\n\nda')).toEqual([
      { event: 'event', data: 'one\ntwo', id: '7' },
    ]);
    expect(reader.read('ta: three\n\n')).toEqual([{ event: 'message', data: 'three', id: '7' }]);
  });

  it('takes every kind of line end, also when one is cut in two', () => {
    const reader = new SseReader();
    expect(reader.read('data: a\r\n\r')).toEqual([]);
    expect(reader.read('\ndata: b\r\rdata: c\n\n')).toMatchObject([{ data: 'a' }, { data: 'b' }, { data: 'c' }]);
  });

  it('moves the id on with a message that has no data, and drops what a lost connection left unfinished', () => {
    const reader = new SseReader();
    expect(reader.read(':\nid: 12\n\nid: 13\ndata: unfinished\n')).toEqual([]);
    expect(reader.lastId).toBe('12');
  });
});
