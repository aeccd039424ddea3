import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, uint16Bytes, uint32Bytes } from '../../../appliance/codecs/ipmi/bytes.ts';
import { SUITE_3, SUITE_17 } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import {
  BOOT_DEVICE_CODES,
  type BootSource,
  getBootFlags,
  setBootFlags,
} from '../../../appliance/codecs/ipmi/commands/boot-options.ts';
import { checksum, decodeReply, encodeRequest } from '../../../appliance/codecs/ipmi/message.ts';
import { decodePacket, encodeHandshake, encodeSessionless } from '../../../appliance/codecs/ipmi/packet.ts';
import { openPacket, sealPacket } from '../../../appliance/codecs/ipmi/sealed-packet.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const exactly = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff });
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

describe('round trips', () => {
  it.each([SUITE_3, SUITE_17])('a packet sealed with suite $id opens to its payload', (suite) => {
    const packets = fc.record({
      payloadType: fc.constantFrom(0, 1),
      sessionId: uint32,
      sequence: uint32,
      payload: bytes(255),
      initialVector: exactly(16),
    });
    fc.assert(
      fc.property(packets, exactly(suite.keyExchangeBytes), exactly(suite.keyExchangeBytes), (outgoing, k1, k2) => {
        const keys = { sik: k1, k1, k2 };
        const packet = decodePacket(sealPacket(suite, keys, outgoing));
        if (packet.kind !== 'rmcp-plus') throw new Error(packet.kind);
        expect(packet).toMatchObject({
          payloadType: outgoing.payloadType,
          sessionId: outgoing.sessionId,
          sequence: outgoing.sequence,
        });
        // The trailer aligns the authenticated part to four bytes.
        expect((packet.afterRmcp.length - suite.integrityBytes) % 4).toBe(0);
        expect(hex(openPacket(suite, keys, packet))).toBe(hex(outgoing.payload));
      }),
    );
  });

  it('a message keeps its content in both frames without a session', () => {
    fc.assert(
      fc.property(bytes(255), (message) => {
        const sessionless = decodePacket(encodeSessionless(message));
        expect(sessionless.kind === 'sessionless' && hex(sessionless.message)).toBe(hex(message));
        const handshake = decodePacket(encodeHandshake(0x11, message));
        expect(handshake.kind === 'rmcp-plus' && hex(handshake.payload)).toBe(hex(message));
      }),
    );
  });

  it('a request that a BMC mirrors is decoded as its reply', () => {
    const requests = fc.record({
      netFn: fc.constantFrom(0x00, 0x04, 0x06, 0x0a),
      command: fc.integer({ min: 0, max: 255 }),
      sequence: fc.integer({ min: 0, max: 63 }),
      data: bytes(40),
    });
    fc.assert(
      fc.property(requests, (request) => {
        const sent = encodeRequest(request);
        expect([checksum(sent.subarray(0, 3)), checksum(sent.subarray(3))]).toEqual([0, 0]);
        const head = Uint8Array.of(0x81, (sent[1] ?? 0) | 0x04);
        const body = Uint8Array.of(0x20, sent[4] ?? 0, sent[5] ?? 0, 0x00, ...request.data);
        const reply = decodeReply(Uint8Array.of(...head, checksum(head), ...body, checksum(body)));
        expect(reply).toMatchObject({ netFn: request.netFn, command: request.command, sequence: request.sequence });
        expect(reply.checksumsRight).toBe(true);
        expect(hex(reply.data)).toBe(hex(request.data));
      }),
    );
  });

  it('boot flags are read back as they were set', () => {
    const flags = fc.record({
      valid: fc.boolean(),
      persistent: fc.boolean(),
      efi: fc.boolean(),
      device: fc.constantFrom(...(Object.keys(BOOT_DEVICE_CODES) as BootSource[])),
    });
    fc.assert(
      fc.property(flags, (flagsSet) => {
        const { data } = setBootFlags(flagsSet);
        expect(getBootFlags().decode(Uint8Array.of(1, ...data))).toEqual({ usable: true, value: flagsSet });
      }),
    );
  });

  it('numbers are little-endian', () => {
    fc.assert(
      fc.property(uint32, (value) => {
        expect(new ByteReader(uint32Bytes(value)).uint32('value')).toBe(value);
        expect(new ByteReader(uint16Bytes(value & 0xffff)).uint16('value')).toBe(value & 0xffff);
      }),
    );
  });
});
