import { describe, expect, it } from 'vitest';
import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const decode = (text: string) => decodeTftp(bytes(text));
const refusal = (field: string, offset: number) => expect.objectContaining({ name: 'TftpDecodeError', field, offset });

describe('decoding a request', () => {
  it('accepts option names and the mode in any case', () => {
    expect(decode('\0\x01a\0OcTeT\0BlkSize\x001024\0')).toEqual({
      op: 'read',
      fileName: 'a',
      mode: 'octet',
      options: new Map([['blksize', '1024']]),
    });
  });

  it('uses the first of two options with the same name', () => {
    expect(decode('\0\x01a\0octet\0blksize\x001024\0BLKSIZE\x00512\0')).toMatchObject({
      options: new Map([['blksize', '1024']]),
    });
  });

  it('ignores the zeros of a client that sends its whole buffer', () => {
    expect(decode(`\0\x01a\0octet\0tsize\x000\0${'\0'.repeat(400)}`)).toMatchObject({
      options: new Map([['tsize', '0']]),
    });
  });

  it('reads names as UTF-8, or as Latin-1 if they are not valid UTF-8', () => {
    expect(decode('\0\x01k\xc3\xa4se\0octet\0')).toMatchObject({ fileName: 'käse' });
    expect(decode('\0\x01k\xe4se\0octet\0')).toMatchObject({ fileName: 'käse' });
  });

  it('decodes a write request, so that it can be rejected', () => {
    expect(decode('\0\x02a\0netascii\0')).toMatchObject({ op: 'write', mode: 'netascii' });
  });

  it('reports the field and offset of what is wrong', () => {
    expect(() => decode('\0\x01a\0binary\0')).toThrow(refusal('mode', 4));
    expect(() => decode('\0\x01a\0octet\0blksize\0')).toThrow(refusal('option value', 18));
    expect(() => decode('\0\x01a\0octet\0blksize')).toThrow(refusal('option name', 10));
    expect(() => decode('\0\x09')).toThrow(refusal('opcode', 0));
    expect(() => decode('\0\x04\0')).toThrow(refusal('block', 2));
    expect(() => decode('\0\x05\0')).toThrow(refusal('error code', 2));
  });

  it('limits every field and the number of options', () => {
    expect(decode(`\0\x01${'n'.repeat(512)}\0octet\0`)).toMatchObject({ fileName: 'n'.repeat(512) });
    expect(() => decode(`\0\x01${'n'.repeat(513)}\0octet\0`)).toThrow(refusal('file name', 2));
    expect(() => decode(`\0\x01a\0${'o'.repeat(17)}\0`)).toThrow(refusal('mode', 4));
    expect(() => decode(`\0\x01a\0octet\0${'o'.repeat(65)}\x001\0`)).toThrow(refusal('option name', 10));
    expect(() => decode(`\0\x01a\0octet\0o\0${'1'.repeat(65)}\0`)).toThrow(refusal('option value', 12));
    const options = (count: number) => Array.from({ length: count }, (_, at) => `o${at}\0v\0`).join('');
    expect(decode(`\0\x01a\0octet\0${options(16)}`)).toMatchObject({ options: { size: 16 } });
    expect(() => decode(`\0\x01a\0octet\0${options(17)}`)).toThrow(expect.objectContaining({ field: 'options' }));
  });
});

describe('decoding other packets', () => {
  it('does not copy the payload of DATA', () => {
    const packet = Uint8Array.of(0, 3, 0, 1, 42);
    const decoded = decodeTftp(packet);
    expect(decoded).toMatchObject({ op: 'data', block: 1 });
    if (decoded.op === 'data') expect(decoded.payload.buffer).toBe(packet.buffer);
  });

  it('accepts an ERROR without terminator or message, and truncates a long message', () => {
    expect(decode('\0\x05\0\x08closed')).toEqual({ op: 'error', code: 8, message: 'closed' });
    expect(decode('\0\x05\0\0')).toEqual({ op: 'error', code: 0, message: '' });
    expect(decode(`\0\x05\0\0${'x'.repeat(5000)}\0`)).toEqual({ op: 'error', code: 0, message: 'x'.repeat(256) });
  });

  it('ignores padding after an ACK', () => {
    expect(decode('\0\x04\0\x07\0\0\0')).toEqual({ op: 'ack', block: 7 });
  });
});
