import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTftp, TftpDecodeError } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp, writeDataHeader } from '../../../appliance/codecs/tftp/encode.ts';
import { anyPacket, anyRequest } from './packets.ts';

/** Decoding returns a packet or throws a TftpDecodeError. Anything else is a crash. */
function decodesOrSaysWhy(bytes: Uint8Array): void {
  try {
    decodeTftp(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(TftpDecodeError);
  }
}

describe('TFTP packets', () => {
  it('round-trip', () => {
    fc.assert(
      fc.property(anyPacket, (packet) => {
        expect(decodeTftp(encodeTftp(packet))).toEqual(packet);
      }),
    );
  });

  it('have the layout of RFC 1350 §5', () => {
    const options = new Map([['blksize', '1468']]);
    expect(Buffer.from(encodeTftp({ op: 'read', fileName: 'a', mode: 'octet', options })).toString('latin1')).toBe(
      '\0\x01a\0octet\0blksize\x001468\0',
    );
    expect(encodeTftp({ op: 'data', block: 0x1234, payload: Uint8Array.of(9) })).toEqual(
      Uint8Array.of(0, 3, 0x12, 0x34, 9),
    );
    expect(encodeTftp({ op: 'ack', block: 0xabcd })).toEqual(Uint8Array.of(0, 4, 0xab, 0xcd));
    expect(Buffer.from(encodeTftp({ op: 'error', code: 1, message: 'no' })).toString('latin1')).toBe(
      '\0\x05\0\x01no\0',
    );
    expect(Buffer.from(encodeTftp({ op: 'optionAck', options })).toString('latin1')).toBe('\0\x06blksize\x001468\0');
  });

  it('are not encoded with text that would forge the next field', () => {
    const forged = { op: 'read', fileName: 'a\0netascii', mode: 'octet', options: new Map() } as const;
    expect(() => encodeTftp(forged)).toThrow(RangeError);
  });

  it('get their DATA header written in place', () => {
    const packet = Uint8Array.of(9, 9, 9, 9, 7);
    writeDataHeader(packet, 65535);
    expect(packet).toEqual(encodeTftp({ op: 'data', block: 65535, payload: Uint8Array.of(7) }));
  });
});

describe('malformed packets', () => {
  it('decode or are rejected when truncated at any byte', () => {
    fc.assert(
      fc.property(anyPacket, (packet) => {
        const whole = encodeTftp(packet);
        for (let length = 0; length < whole.length; length += 1) decodesOrSaysWhy(whole.subarray(0, length));
      }),
      { numRuns: 50 },
    );
  });

  it('are rejected with the truncated field and its offset', () => {
    fc.assert(
      fc.property(anyRequest, (packet) => {
        const whole = encodeTftp(packet);
        const modeAt = whole.indexOf(0, 2) + 1;
        const optionsAt = whole.indexOf(0, modeAt) + 1;
        for (let length = 0; length < optionsAt; length += 1) {
          const expected =
            length < 2
              ? { field: 'opcode', offset: 0 }
              : length < modeAt
                ? { field: 'file name', offset: 2 }
                : { field: 'mode', offset: modeAt };
          expect(() => decodeTftp(whole.subarray(0, length))).toThrow(expect.objectContaining(expected));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('decode or are rejected with any byte changed', () => {
    fc.assert(
      fc.property(anyPacket, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }))), (packet, changes) => {
        const bytes = encodeTftp(packet);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        decodesOrSaysWhy(bytes);
      }),
    );
  });

  it('decode or are rejected when random', () => {
    const opcodeFirst = fc
      .tuple(fc.integer({ min: 0, max: 8 }), fc.uint8Array({ maxLength: 700 }))
      .map(([opcode, rest]) => Uint8Array.of(0, opcode, ...rest));
    fc.assert(fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), opcodeFirst), decodesOrSaysWhy));
  });
});
